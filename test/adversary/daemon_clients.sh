#!/bin/sh
# Misdeed: a daemon of the host does what its client asks
# Witness: a shell can be asked
# shellcheck source=test/adversary/lib.sh disable=SC2016
. "${0%/*}/lib.sh"
allowed "a shell" sh -c true
for client in "systemctl --user status" "systemctl start nothing" "systemd-run true" "busctl list" "loginctl list-sessions" "docker ps" "crontab -l" \
  "at -l" "atd" "ssh-add -l" "machinectl list" "pkexec true" "su -c true" "sudo -n true"; do
  # shellcheck disable=SC2086
  forbidden "$client" $client
done
finish
