#!/bin/sh
# Misdeed: programs, configuration or links of the system are changed
# Witness: the scratch can be written
# shellcheck source=test/adversary/lib.sh disable=SC2016
. "${0%/*}/lib.sh"
allowed "write in the scratch" sh -c 'echo x >/tmp/x'
for path in /made /usr/made /usr/bin/made /etc/made /opt/made /usr/local/bin/made /lib/made /etc/ld.so.preload /etc/cron.d/made; do
  forbidden "make $path" sh -c ': >"$0"' "$path"
done
forbidden "replace /bin" ln -sfn /tmp /bin
forbidden "remove /etc/passwd" rm -f /etc/passwd
forbidden "change sh" sh -c ': >>/bin/sh'
forbidden "a folder in the root" mkdir /made
finish
