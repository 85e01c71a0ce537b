#!/bin/sh
# Misdeed: a process that holds the output open holds up the result
# Witness: it is there
# shellcheck source=test/adversary/lib.sh disable=SC2016
. "${0%/*}/lib.sh"
flock -s alive sleep 8231 &
echo "$!" >sleeper
allowed "it is there" test -s sleeper
finish
