#!/bin/sh
# Misdeed: the programs of loom are overwritten where a policy shows the whole host
# Witness: they can be looked for
# Run: view=host native
# shellcheck source=test/adversary/lib.sh disable=SC2016
. "${0%/*}/lib.sh"
allowed "read the host" ls /usr /etc
for path in $(ls -d /usr/libexec/loom/* /usr/local/libexec/loom/* /usr/local/bin/loom-* /usr/bin/loom-* 2>/dev/null) /usr/bin/env /bin/sh; do
  forbidden "write $path" sh -c ': >>"$0"' "$path"
  forbidden "replace $path" mv -f /tmp/x "$path"
done
finish
