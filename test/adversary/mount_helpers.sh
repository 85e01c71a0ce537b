#!/bin/sh
# Misdeed: the set-id programs that mount for users mount
# Witness: they can be asked for their version
# shellcheck source=test/adversary/lib.sh disable=SC2016
. "${0%/*}/lib.sh"
allowed "ask mount" mount --version
forbidden "mount" mount -t tmpfs none /tmp
forbidden "bind" mount --bind /usr /tmp
forbidden "umount" umount /proc/sys
for helper in fusermount fusermount3 pmount; do
  if command -v "$helper" >/dev/null; then forbidden "$helper" "$helper" -u /tmp; fi
done
finish
