#!/usr/bin/env bats
# loom-egress check: the judge of a real request, stopped before the network.

load helpers

setup() {
  cd "$BATS_TEST_TMPDIR" || return
  cat >p.json <<'END'
{"v":1,
 "origins":[{"origin":"https://api.test:8443","methods":["GET"],"path_prefixes":["/v1/"],"headers":["accept"],"secrets":[]},
            {"origin":"https://api.test:8443","methods":["POST"],"path_prefixes":["/v1/write/"],"headers":[],"secrets":["gh"]},
            {"origin":"https://127.0.0.1","methods":["GET"],"path_prefixes":["/"],"headers":[],"secrets":[]}],
 "secrets":{"gh":{"env":"GH_TOKEN","header":"x-key","prefix":""}},
 "redirects":"none","deadline_ms":1000,"request_bytes":100,"response_bytes":100,"trust":{"roots":"system"},
 "ip_allow":[],"resolver":"127.0.0.1:1","response_headers":[]}
END
}

check() { try "$BIN/loom-egress" check --policy p.json --url "$@"; }

@test "check names the entry that admits the whole request" {
  check https://api.test:8443/v1/x
  is 0
  silent
  [ "$out" = "allowed: /origins/0" ]
  check https://API.test.:8443/v1/x --header Accept --method GET --json
  is 0
  json '. == {"ok":true,"rule":"/origins/0","origin":"https://api.test:8443","method":"GET","path":"/v1/x"}'
  export GH_TOKEN=marker-7f3a
  check https://api.test:8443/v1/write/x --method POST --credential gh
  is 0
  [ "$out" = "allowed: /origins/1" ]
}

@test "check names the rule that refuses, on one line for people and as JSON" {
  check https://other.test/
  is 1
  [ "$out" = "refused: not_allowed /origins" ]
  says "loom-egress: https://other.test: no entry of the policy has this origin"
  says "hint: "
  check https://other.test/ --json
  is 1
  silent
  json '.ok == false and (.errors | length == 1) and .errors[0].code == "not_allowed" and .errors[0].rule == "/origins" and
        .errors[0].stage == "policy"'
  while read -r url want; do
    check "$url"
    is 1
    [ "$out" = "refused: $want" ] || { tell; echo "want $want" >&2; return 1; }
  done <<'END'
https://api.test/v1/ not_allowed /origins
https://api.test:8443/v2/ not_allowed /origins/0/path_prefixes
https://api.test:8443/v1/../v2/ not_allowed path_form
https://127.0.0.1/ address_refused 127.0.0.1 loopback
http://api.test:8443/v1/ not_allowed scheme
https://api.test:8443/v1/#f bad_request
https://u@api.test:8443/v1/ host_syntax
https://127.1/ host_syntax
END
  check https://api.test:8443/v1/ --method DELETE
  [ "$out" = "refused: method_not_allowed /origins/0/methods" ]
  check https://api.test:8443/v1/ --method TRACE
  [ "$out" = "refused: method_not_allowed method_set" ]
  check https://api.test:8443/v1/ --header X-Other
  [ "$out" = "refused: header_refused X-Other not_listed" ]
  check https://api.test:8443/v1/ --header X-Key
  [ "$out" = "refused: header_refused X-Key reserved" ]
  check https://api.test:8443/v1/ --header 'a b'
  [ "$out" = "refused: header_refused a b not_a_token" ]
  check https://api.test:8443/v1/ --credential gh
  [ "$out" = "refused: not_allowed /origins/0/secrets" ]
}

@test "check asks for the secret as a request does, and never tells its value" {
  check https://api.test:8443/v1/write/ --method POST --credential gh
  is 1
  [ "$out" = "refused: secret_missing gh" ]
  GH_TOKEN='' check https://api.test:8443/v1/write/ --method POST --credential gh
  [ "$out" = "refused: secret_missing gh" ]
  GH_TOKEN=$'marker-7f3a\nx' check https://api.test:8443/v1/write/ --method POST --credential gh
  is 1
  [ "$out" = "refused: header_refused x-key control" ]
  [[ "$out$err" != *marker* ]]
}

@test "check: a policy that cannot be read, or that says more than is known, is status 2 and names the place" {
  check https://api.test:8443/v1/
  is 0
  jq '. + {"verify":false}' p.json >q.json
  try "$BIN/loom-egress" check --policy q.json --url https://api.test:8443/v1/
  is 2
  says "q.json: /verify: unknown key"
  try "$BIN/loom-egress" check --policy missing.json --url https://api.test:8443/v1/
  is 2
  says "missing.json: "
  try "$BIN/loom-egress" check --policy p.json
  is 2
  says "--url"
  try "$BIN/loom-egress" check --url https://api.test:8443/v1/
  is 2
  says "--policy"
}

@test "check opens no socket" {
  command -v strace >/dev/null || skip "needs strace"
  strace -f -qq -e trace=socket,connect,sendto -o trace "$BIN/loom-egress" check --policy p.json --url https://api.test:8443/v1/x ||
    skip "this host lets nobody trace"
  [ ! -s trace ] || { cat trace >&2; return 1; }
}

# The one table of host spellings, by its front end `check`: the policy lists every canonical host of it.
@test "check gives the verdict of every row of the host table" {
  skip_if_root  # a process a row, and the same for both users
  local table=$TREE/test/support/vectors/hosts.tsv authority verdict canonical host rows=0
  grep -v '^#' "$table" | cut -f3 | sort -u | jq -Rn --slurpfile p p.json '
    [inputs | select(. != "") | if contains(":") then "[\(.)]" else . end | ., "\(.):8443", "\(.):65535" | "https://\(.)"] as $origins |
    $p[0] + {origins: ($origins | map({origin: ., methods: ["GET"], path_prefixes: ["/"], headers: [], secrets: []}))}' >table.json
  while IFS=$'\t' read -r authority verdict canonical; do
    # A NUL cannot be given on a command line, and `read` takes an empty first column for none.
    case $authority in '#'* | *'\x00'* | '' | host_syntax) continue ;; esac
    printf -v host '%b' "$authority"
    try "$BIN/loom-egress" check --policy table.json --url "https://$host/"
    rows=$((rows + 1))
    case $verdict in
      name | public) [[ $status == 0 && $out == "allowed: "* ]] ;;
      host_syntax) [[ $status == 1 && $out == "refused: host_syntax" ]] ;;
      address_refused*) [[ $status == 1 && $out == "refused: address_refused $canonical ${verdict#* }" ]] ;;
      *) false ;;
    esac || { tell; echo "$authority: want $verdict" >&2; return 1; }
  done <"$table"
  [ "$rows" -gt 130 ]
}

@test "what is missing on the command line is named by serve and proxy, with the help that tells it" {
  try "$BIN/loom-egress" serve --socket "$BATS_TEST_TMPDIR/s"
  is 2
  says "loom-egress: --config: must be given"
  says "hint: see loom-egress serve --help"
  try "$BIN/loom-egress" proxy
  is 2
  says "hint: see loom-egress proxy --help"
}
