# file: libloom/broker/execution.cc
/^Effects stop\(/,/^}/ s/^      return \{\};/      return {execution_effect::SendCancel{}};/
