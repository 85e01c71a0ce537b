#!/usr/bin/env bats
# loom-egress proxy with real clients, real TLS origins and a name server of the test's; the cases are in
# test/peers/proxy_cases.py.

load helpers
load origins

setup_file() {
  export PKI=$BATS_FILE_TMPDIR/pki
  make_pki "$PKI"
}

proxy_case() {
  export WORK=$BATS_TEST_TMPDIR
  python3 "$TREE/test/peers/proxy_cases.py" "$1" 3>&-
}

@test "curl reaches a listed host through CONNECT, SOCKS5 and plain HTTP, and each is recorded" { proxy_case clients; }
@test "bodies of plain requests go through whole, and a second request on the connection goes nowhere" { proxy_case bodies; }
@test "another host or port is refused by name, without a lookup" { proxy_case refusals; }
@test "heads that two readers could take differently are answered 400 and closed" { proxy_case heads; }
@test "a CONNECT of HTTP/1.0 without a Host, byte by byte, is served; the record names the peer" { proxy_case old_http; }
@test "SOCKS5 byte by byte; its refusals have their numbers" { proxy_case socks; }
@test "IPv6 addresses are reached, and the second address of a name when the first refuses" {
  grep -q '^0*1 ' /proc/net/if_inet6 2>/dev/null || skip "no IPv6 on the loopback here"
  proxy_case ipv6
}
@test "the TLS hello names the host, however it is split; else the tunnel closes with its own reason" { proxy_case server_names; }
@test "half-closes go through in either direction, and nothing is lost" { proxy_case half_close; }
@test "a reader that stops holds the sender back and not the proxy's memory" { proxy_case slow_reader; }
@test "all addresses of a name are judged, once, and the connection goes to one of those" { proxy_case answers; }
@test "an upstream that refuses is a bad gateway, recorded as one" { proxy_case unreachable; }
@test "the proxy does not reach itself" { proxy_case itself; }
@test "readiness is answered by the proxy; an empty list allows nothing" { proxy_case readiness; }
@test "a configuration that cannot be read closes the door, and one that was changed counts at once" { proxy_case configuration; }
@test "a record that cannot be written refuses" { proxy_case full_disk; }
@test "with few descriptors accepting pauses, says so once, and everybody is served" { proxy_case few_descriptors; }
@test "the 257th tunnel is told that there are too many" { proxy_case too_many; }
@test "two lists at once: each admits its own and names its digest" { proxy_case two_lists; }
@test "a proxy that is killed leaves a closed door" { proxy_case killed; }
@test "told to end, it closes its tunnels, records them and takes its socket along" { proxy_case told_to_end; }
@test "a proxy ends with whoever passed its socket" { proxy_case owner_gone; }
@test "what cannot be served is refused before anything is listened on" { proxy_case usage; }

@test "git clones through it, and from another host it does not" {
  mkdir "$BATS_TEST_TMPDIR/git"
  make_git_origin "$BATS_TEST_TMPDIR/git"
  proxy_case git
}

@test "npm installs from a registry through it" {
  command -v npm >/dev/null || skip "no npm here"
  proxy_case npm
}

@test "pip downloads through it" {
  python3 -m pip --version >/dev/null 2>&1 || skip "no pip here"
  proxy_case pip
}
