# For misdeeds written in sh: the same lines as helper/probes/deeds.h. $1 is the number, $2 a directory of the host.
# shellcheck shell=sh
nonce=$1
# allowed TEXT COMMAND...: must work, and shows that the misdeed was really tried. forbidden TEXT COMMAND...: must not.
allowed() { said=$1; shift; if "$@" >/dev/null 2>&1; then echo "+ $said"; else echo "- $said"; fi; }
forbidden() { said=$1; shift; if "$@" >/dev/null 2>&1; then echo "! $said"; else echo ". $said"; fi; }
finish() { echo "end $nonce"; }
