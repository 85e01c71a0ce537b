#!/bin/sh
# Misdeed: the homes, keys and mail of the people of the host are read
# Witness: /usr can be read
# shellcheck source=test/adversary/lib.sh disable=SC2016
. "${0%/*}/lib.sh"
allowed "list /usr" ls /usr
for path in /root /home /var/mail /var/lib /var/log /srv /mnt /media /boot /sys/kernel; do
  forbidden "find $path" test -e "$path"
done
forbidden "read a key" sh -c 'cat /root/.ssh/* /home/*/.ssh/*'
finish
