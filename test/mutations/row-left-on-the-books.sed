# file: libloom/broker/local_executor.cc
/^void LocalExecutor::release\(/,/^}/ s/^  runs_\.erase\(at\);$//
