#!/usr/bin/env bats
# loom-egress request against real origins: what is sent, what comes back, and everything that must not happen.

load helpers
load origins

setup_file() {
  export PKI=$BATS_FILE_TMPDIR/pki
  make_pki "$PKI"
}
setup() {
  policy=$BATS_TEST_TMPDIR/policy.json
  unset GH_TOKEN
  start_dns a.test=127.0.0.1 b.test=127.0.0.1 silent.test=SILENT
}
teardown() { stop_peers; }

# policy [FILTER]: what these tests may request, changed by a jq filter.
policy() {
  jq -n --arg origin "https://a.test:$origin_port" --arg dns "$dns" --arg roots "$PKI/root.pem" '
    {v: 1,
     origins: [{origin: $origin, methods: ["GET", "HEAD", "POST", "PUT", "DELETE"], path_prefixes: ["/"],
                headers: ["accept", "x-note", "x-empty", "content-type", "user-agent"], secrets: ["gh"]}],
     secrets: {gh: {env: "GH_TOKEN", header: "authorization", prefix: "Bearer "}}, redirects: {same_host: 3}, deadline_ms: 20000,
     request_bytes: 4096, response_bytes: 65536, trust: {roots: [$roots]}, ip_allow: ["127.0.0.1/32"], resolver: $dns,
     response_headers: ["content-type", "content-encoding", "location", "x-note"]} | '"${1:-.}" >"$policy"
}
# asks TARGET [MEMBERS | FILTER]: a GET of it under the policy, with further members, or changed by a jq filter (which takes
# longer).
asks() {
  local method='"method":"GET",'
  [[ ${2:-} != *'"method":'* ]] || method=
  case ${2:-} in
    .*) jq -n --arg url "https://a.test:$origin_port$1" '{url: $url, method: "GET"} | '"$2" ;;
    *) printf '{%s"url":"https://a.test:%s%s"%s}' "$method" "$origin_port" "$1" "${2:+,$2}" ;;
  esac >"$BATS_TEST_TMPDIR/request.json"
  try "$BIN/loom-egress" request --policy "$policy" --request "$BATS_TEST_TMPDIR/request.json"
}
# shellcheck disable=SC2059
# raw BYTES (as printf takes them): the target that answers with exactly these.
raw() { echo "/${2:-raw}?$(printf "$1" | base64 -w0 | tr '+/' '-_')"; }

# holds TEXT | FILTER ...: each text stands in the answer, each jq filter holds of it.
holds() {
  local want
  for want in "$@"; do
    case $want in
      [.\(]*) json "$want" || return 1 ;;
      *) answers "$want" || return 1 ;;
    esac
  done
}
# gets WHAT...: an answer of which that holds.
gets() { is 0 && silent && holds '{"ok":true,' "$@"; }
# fails CODE STAGE [WHAT...]: a no with that code at that stage, told on stderr in one line.
fails() {
  is 1 && holds '{"ok":false,"errors":[{' "\"code\":\"$1\"" "\"stage\":\"$2\"" "${@:3}" || return 1
  [[ ${err%$'\n'hint: *} != *$'\n'* && -n $err ]] || { tell; echo "want one line" >&2; return 1; }
}
# requests: how many reached the origin; questions: how many the name server was asked.
requests() { grep -c '"target"' "$origin_log" || true; }
questions() { wc -l <"$dns_log"; }
logged() { jq -se "$1" "$origin_log" >/dev/null || { cat "$origin_log" >&2; return 1; }; }

@test "a request is performed and its answer handed over" {
  start_tls_origin
  policy
  asks /text/hello
  gets '"status":200' '"body":"hello"' '"bytes":5' '"hops":0' '"scrubbed":false'
  json '.headers == {"content-type": "text/plain"} and .sha256 == "'"$(printf hello | sha256sum | cut -d' ' -f1)"'"'
  json '.timing | keys == ["connect_ms", "resolve_ms", "response_ms", "tls_ms", "total_ms"] and all(. >= 0)'
  logged 'length == 1 and .[0].sni == "a.test" and .[0].tls == "TLSv1.3"'
}

@test "the request is read from standard input, and what is sent is what was judged" {
  start_tls_origin
  policy
  try "$BIN/loom-egress" request --policy "$policy" < <(jq -n --arg url "https://A.test.:$origin_port/echo?a=%2f&b" \
    '{url: $url, method: "POST", headers: {"X-Note": "tschüss", "X-Empty": " \t"}, body: "text"}')
  gets '"status":200'
  logged '.[0] | .method == "POST" and .target == "/echo?a=%2f&b" and .body == "text"'
  logged '.[0].headers == [["Host", "a.test:'"$origin_port"'"], ["X-Note", "tsch\u00fcss"], ["X-Empty", ""],
    ["User-Agent", "loom-egress/'"$("$BIN/loom-egress" --version | cut -d' ' -f2)"'"], ["Content-Length", "4"]]'
}

@test "the target on the wire is the URL's, byte by byte" {
  start_tls_origin
  policy
  local target
  for target in '//echo' '/echo?' '/echo??&=/..%2f' "/echo/'()*+,;=:@!\$~" '/echo/%ff%00' '/echo/.a/..b/...'; do
    asks "$(jq -rn --arg t "$target" '$t')"
    gets || return 1
    [ "$(tail -n 1 "$origin_log" | jq -r .target)" = "$target" ] || { tail -n 1 "$origin_log" >&2; return 1; }
  done
}

@test "each method is sent as it is, with a length where one belongs" {
  start_tls_origin
  policy '.origins[0].methods += ["PATCH"]'
  for method in GET DELETE; do
    asks /echo ".method = \"$method\""
    gets '"status":200'
    logged ".[-1] | .method == \"$method\" and ([.headers[][0]] | index(\"Content-Length\") == null)"
  done
  for method in POST PUT PATCH; do
    asks /echo ".method = \"$method\""
    logged ".[-1] | .method == \"$method\" and (.headers | index([[\"Content-Length\", \"0\"]]) != null)"
  done
  asks /echo '.method = "DELETE" | .body = {base64: "AP8="}'
  logged '.[-1] | .method == "DELETE" and .body == "\u0000\u00ff"'
  asks /big/70000 '"method":"HEAD"'
  gets '"status":200' '"body":""' '"bytes":0'
}

@test "what libcurl would say by itself the caller may say, where the policy lets it" {
  start_tls_origin
  policy
  asks /echo '.method = "POST" | .headers = {"User-Agent": "u", "Accept": "a", "Content-Type": "c", "X-Empty": ""} | .body = ""'
  gets '"status":200'
  logged '.[0].headers[1:] == [["User-Agent", "u"], ["Accept", "a"], ["Content-Type", "c"], ["X-Empty", ""], ["Content-Length", "0"]]'
  policy '.secrets.gh = {env: "GH_TOKEN", header: "user-agent", prefix: ""} | .origins[0].headers -= ["user-agent"]'
  GH_TOKEN=s3cret-agent asks /echo '"credential":"gh"'
  logged '.[1].headers[1:] == [["user-agent", "s3cret-agent"]]'
}

@test "whatever the upstream's status, it is an answer" {
  start_tls_origin
  policy
  for code in 204 304 404 500 599; do
    asks "/status/$code"
    gets "\"status\":$code" '"body":""'
  done
}

@test "a body that is no text comes as base64, and content is not decoded" {
  start_tls_origin
  policy
  asks "$(raw 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n\xff\x00\xfe')"
  gets '"body":{"base64":"/wD+"},"bytes":3'
  asks /gzip
  gets '"content-encoding":"gzip"' '.bytes < 20000'
  jq -r .body.base64 <<<"$out" | base64 -d | gunzip | wc -c | grep -qx 10485760
}

@test "chunked bodies, interim answers, trailers and a body that ends with the connection are taken" {
  start_tls_origin
  policy
  asks "$(raw 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nX-Note: late\r\n\r\n')"
  gets '.body == "abcde" and (.headers | has("x-note") | not)'
  asks "$(raw 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nX-Note: no\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')"
  gets '"status":200' '"body":"ok"' '"headers":{}'
  asks "$(raw 'HTTP/1.0 200 OK\r\n\r\nto the end')"
  gets '"body":"to the end"'
}

@test "heads that can be read in two ways are refused before any body" {
  start_tls_origin
  policy
  local ok='HTTP/1.1 200 OK\r\n'
  while read -r what bytes; do
    asks "$(raw "$bytes")"
    fails upstream response "${what//_/ }" || { echo "for $bytes" >&2; return 1; }
  done <<END
two_Content-Lengths ${ok}Content-Length: 2\r\nContent-Length: 3\r\n\r\nabc
with_Transfer-Encoding ${ok}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n
with_Transfer-Encoding ${ok}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n
not_chunked_alone ${ok}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n
not_chunked_alone ${ok}Transfer-Encoding: identity\r\n\r\nabc
no_number ${ok}Content-Length: 2, 2\r\n\r\nab
no_number ${ok}Content-Length: +2\r\n\r\nab
makes_no_sense ${ok}Content-Length: -2\r\n\r\nab
folded ${ok}X-Note: a\r\n b\r\nContent-Length: 0\r\n\r\n
CR_LF HTTP/1.1 200 OK\nContent-Length: 2\n\nab
CR_LF ${ok}X-Note: a\nContent-Length: 2\r\n\r\nab
control ${ok}X-Note: a\x01b\r\nContent-Length: 0\r\n\r\n
control ${ok}X-Note: a\rb\r\nContent-Length: 0\r\n\r\n
token ${ok}X Note: a\r\nContent-Length: 0\r\n\r\n
makes_no_sense ${ok}no colon\r\nContent-Length: 0\r\n\r\n
switches HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n
not_HTTP/1 HTTP/2 200\r\n\r\n
not_HTTP/1 hello\r\n\r\n
END
  asks "$(raw "${ok}X-Note: a\\0b\\r\\nContent-Length: 0\\r\\n\\r\\n")"
  fails upstream response
}

@test "a body shorter than announced, and one whose connection is cut, are failures" {
  start_tls_origin
  policy
  asks "$(raw 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc')"
  fails upstream body 'shorter'
  asks "$(raw 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc')"
  fails upstream body
  asks "$(raw 'HTTP/1.1 200 OK\r\n\r\nno length and no TLS close' cut)"
  fails upstream body
  asks "$(raw 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc' cut)"
  fails upstream body
  asks "$(raw '')"
  fails upstream response
}

@test "the cap on the body counts what is announced and what arrives" {
  start_tls_origin
  policy '.response_bytes = 1000'
  asks /big/1000
  gets '"bytes":1000'
  asks /big/1001
  fails response_too_large response '"limit":1000'
  asks /flood
  fails response_too_large body '"limit":1000'
  asks /gzip
  fails response_too_large response
  asks "$(raw "HTTP/1.0 200 OK\r\n\r\n$(printf 'x%.0s' {1..1001})")"
  fails response_too_large body
}

@test "response headers are capped at 64 KiB, also without an end of line" {
  start_tls_origin
  policy
  asks /flood/head
  fails response_too_large response '"limit":65536'
  policy
  asks /flood/line
  fails response_too_large response '"limit":65536'
}

# later NAME TARGET [FILTER]: asks in the background; the deadline is long enough to come as far as it should on a busy machine.
later() {
  policy ".deadline_ms = 2500 | ${3:-.}"
  mv "$policy" "$BATS_TEST_TMPDIR/$1.policy"
  "$BIN/loom-egress" request --policy "$BATS_TEST_TMPDIR/$1.policy" >"$BATS_TEST_TMPDIR/$1.out" 2>"$BATS_TEST_TMPDIR/$1.err" 3>&- \
    < <(jq -n --arg url "${4:-https://a.test:$origin_port}$2" '{url: $url, method: "GET"}') &
  waited+=("$1:$!")
}

@test "the deadline is one for the whole, and the stage is named" {
  local waited=() one name
  later resolve / '.origins[0].origin = "https://silent.test" | .secrets = {} | .origins[0].secrets = []' https://silent.test
  start_origin --mode full
  later connect /
  start_origin --mode handshake-drip
  later tls /
  start_tls_origin
  later response /drip/head
  later body /drip/body
  for one in "${waited[@]}"; do
    name=${one%:*} status=0
    wait "${one#*:}" || status=$?
    out=$(cat "$BATS_TEST_TMPDIR/$name.out") err=$(cat "$BATS_TEST_TMPDIR/$name.err")
    fails deadline "$name"
  done
}

@test "an upload that nobody reads ends at the deadline, while sending" {
  start_origin --cert "$PKI/leaf.pem" --key "$PKI/leaf.key" --mode deaf
  policy '.deadline_ms = 2500 | .request_bytes = 33554432'
  jq -n --arg url "https://a.test:$origin_port/" '{url: $url, method: "POST", body: ("x" * 16000000)}' >"$BATS_TEST_TMPDIR/large.json"
  try "$BIN/loom-egress" request --policy "$policy" --request "$BATS_TEST_TMPDIR/large.json"
  fails deadline send
}

@test "an origin that is not there, or speaks no TLS, is told apart" {
  start_origin --mode not-tls
  policy
  asks /
  fails tls tls 'not TLS'
  stop_peers
  start_dns a.test=127.0.0.1
  policy
  asks /
  fails connect connect 'nobody listens'
}

@test "a certificate of another root, for another name or of another time is refused" {
  for leaf in stranger wrong expired; do
    start_origin --cert "$PKI/$leaf.pem" --key "$PKI/$leaf.key"
    policy
    asks /echo
    case $leaf in
      stranger) fails tls tls 'nobody who is trusted' ;;
      wrong) fails tls tls 'another name' ;;
      expired) fails tls tls 'expired' ;;
    esac
    [ "$(requests)" = 0 ]
  done
}

@test "the named roots are trusted and no others, and the system's do not know ours" {
  start_tls_origin
  policy
  asks /text/x
  gets '"status":200'
  policy '.trust.roots = [$ENV.PKI + "/other.pem"]'
  asks /text/x
  fails tls tls 'nobody who is trusted'
  policy '.trust.roots = [$ENV.PKI + "/other.pem", $ENV.PKI + "/root.pem"]'
  asks /text/x
  gets '"status":200'
  policy '.trust.roots = "system"'
  asks /text/x
  fails tls tls
  [ "$(requests)" = 2 ]
}

@test "a root that cannot be read, or is none, decides nothing" {
  start_tls_origin
  echo "no certificate" >"$BATS_TEST_TMPDIR/none.pem"
  for root in "$BATS_TEST_TMPDIR/none.pem" "$BATS_TEST_TMPDIR/absent.pem"; do
    policy ".trust.roots = [\"$root\"]"
    asks /text/x
    is 2
    [ -z "$out" ]
    says "$root"
  done
  printf -- '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n' >"$BATS_TEST_TMPDIR/none.pem"
  cat "$PKI/root.pem" "$BATS_TEST_TMPDIR/none.pem" >"$BATS_TEST_TMPDIR/half.pem"
  for root in none half; do
    policy ".trust.roots = [\"$BATS_TEST_TMPDIR/$root.pem\"]"
    asks /text/x
    is 2
    says "$root.pem: "
  done
  [ "$(requests)" = 0 ]
}

@test "TLS 1.2 is spoken, and nothing older" {
  start_tls_origin --tls 1.2
  policy
  asks /text/x
  gets '"status":200'
  logged '.[0].tls == "TLSv1.2"'
  start_tls_origin --tls 1.1
  policy
  asks /text/x
  fails tls tls
  [ "$(requests)" = 0 ]
}

@test "no TLS session is resumed and no connection reused, hop after hop" {
  start_tls_origin --tls 1.2
  policy
  asks "/redirect/302?/redirect/302%3f/text/end"
  gets '"hops":2' '"body":"end"'
  logged 'length == 3 and all(.tls == "TLSv1.2" and .resumed == false)'
  # This origin does resume: a client that offers its session is taken up on it.
  for turn in out in; do
    printf 'GET /text/x HTTP/1.1\r\nHost: a.test\r\n\r\n' | timeout 20 openssl s_client -quiet -tls1_2 -CAfile "$PKI/root.pem" \
      -servername a.test -connect "127.0.0.1:$origin_port" "-sess_$turn" "$BATS_TEST_TMPDIR/session" >/dev/null 2>&1
  done
  logged '.[-1].resumed == true'
}

@test "no connection is used twice, hop after hop" {
  start_tls_origin --mode keep
  policy
  asks "/redirect/302?/redirect/302%3f/text/end"
  gets '"hops":2' '"body":"end"'
  logged 'map(.connection) | length == 3 and unique == sort and (unique | length) == 3'
  # This origin does keep its connections: a client that wants to uses one for both.
  curl -sS --cacert "$PKI/root.pem" --connect-to "::127.0.0.1:" "https://a.test:$origin_port/text/"{1,2} >/dev/null
  logged '.[3].connection == .[4].connection'
}

@test "an unlisted host, path or method causes no lookup and no connection" {
  start_tls_origin
  policy '.origins[0].path_prefixes = ["/text/"] | .origins[0].methods = ["GET"]'
  asks /text/x '.url = "https://b.test:'"$origin_port"'/text/x"'
  fails not_allowed policy
  asks /echo
  fails not_allowed policy
  asks /text/x '"method":"POST"'
  fails method_not_allowed policy
  asks /text/x '.url |= sub("https"; "http")'
  is 1
  [ "$(questions)" = 0 ] && [ "$(requests)" = 0 ]
}

# The one table of host spellings, by the front end that would go out: a row that is refused causes no lookup.
@test "request gives the verdict of every refused row of the host table" {
  start_tls_origin
  policy '.ip_allow = []'
  python3 - "$TREE/test/support/vectors/hosts.tsv" "$policy" "$BATS_TEST_TMPDIR" <<'END'
import json, re, sys
policy, origins, rows = json.load(open(sys.argv[2])), set(), []
for line in open(sys.argv[1], encoding="utf-8"):
    authority, verdict, canonical = (line.rstrip("\n").split("\t") + ["", ""])[:3]
    if line.startswith("#") or verdict in ("name", "public"):
        continue
    raw = re.sub(rb"\\x(..)", lambda m: bytes([int(m[1], 16)]), authority.encode())
    try:
        request = {"url": "https://" + raw.decode() + "/", "method": "GET"}
    except UnicodeDecodeError:
        continue  # no JSON can hold it
    if canonical:
        host = f"[{canonical}]" if ":" in canonical else canonical
        origins |= {"https://" + host, "https://" + host + ":8443"}
    rows.append((json.dumps(request), f"{verdict} {canonical}".strip()))
entry = {"methods": ["GET"], "path_prefixes": ["/"], "headers": [], "secrets": []}
policy |= {"secrets": {}, "origins": [entry | {"origin": origin} for origin in sorted(origins)]}
json.dump(policy, open(sys.argv[2], "w"))
open(sys.argv[3] + "/requests", "w").writelines(row[0] + "\n" for row in rows)
open(sys.argv[3] + "/want", "w").writelines(row[1] + "\n" for row in rows)
END
  while read -r line; do
    printf '%s' "$line" | "$BIN/loom-egress" request --json --policy "$policy" || [ $? = 1 ]
  done <"$BATS_TEST_TMPDIR/requests" >"$BATS_TEST_TMPDIR/answers"
  jq -r '.errors[0] | [.code, .why // empty, .address // empty] | join(" ")' "$BATS_TEST_TMPDIR/answers" >"$BATS_TEST_TMPDIR/got"
  diff "$BATS_TEST_TMPDIR/want" "$BATS_TEST_TMPDIR/got"
  [ "$(wc -l <"$BATS_TEST_TMPDIR/got")" -gt 120 ]
  [ "$(questions)" = 0 ]
}

@test "every address of the name is judged, and one bad one refuses them all" {
  start_tls_origin
  stop_peers
  start_tls_origin
  start_dns a.test=127.0.0.1,10.0.0.1
  policy
  asks /text/x
  fails address_refused resolve '"address":"10.0.0.1"' '"why":"private"'
  start_dns a.test=::ffff:127.0.0.1
  policy
  asks /text/x
  fails address_refused resolve
  start_dns a.test=127.0.0.1
  policy '.ip_allow = []'
  asks /text/x
  fails address_refused resolve '"why":"loopback"'
  [ "$(requests)" = 0 ]
}

@test "an answer that changes after it was judged changes nothing: one lookup serves every hop" {
  start_tls_origin
  start_dns a.test=127.0.0.1/10.0.0.1
  policy
  asks "/redirect/302?/text/end"
  gets '"hops":1' '"body":"end"'
  [ "$(sort "$dns_log" | tr '\n' ' ')" = "A a.test AAAA a.test " ]
  asks /text/x
  fails address_refused resolve
}

@test "of several judged addresses the next is tried where one refuses" {
  start_tls_origin
  start_dns a.test=127.0.0.2,127.0.0.1
  policy '.ip_allow = ["127.0.0.0/8"]'
  asks /text/x
  gets '"body":"x"'
}

@test "IPv6 is judged and connected to as IPv4 is" {
  python3 -c 'import socket; socket.socket(socket.AF_INET6).bind(("::1", 0))' 2>/dev/null || skip "no ::1 here"
  start_tls_origin --host ::1
  start_dns a.test=127.0.0.1,::1 b.test=::1
  policy '.ip_allow = ["127.0.0.1", "::1"]'
  asks /text/x
  gets '"body":"x"'
  policy '.ip_allow = ["127.0.0.1"]'
  asks /text/x
  fails address_refused resolve '"address":"::1"' '"why":"loopback"'
  policy ".ip_allow = [\"::1/128\"] | .origins[0].origin = \"https://[::1]:$origin_port\""
  asks /text/x ".url = \"https://[::1]:$origin_port/text/y\""
  gets '"body":"y"'
}

@test "names that do not exist, have no address or no server are dns" {
  start_tls_origin
  policy '.origins[0].origin = "https://none.test" | .secrets = {} | .origins[0].secrets = []'
  asks / '.url = "https://none.test/"'
  fails dns resolve '"what":"no such name"'
  kill "$dns_pid"
  ends "$dns_pid"
  asks / '.url = "https://none.test/"'
  fails dns resolve
}

@test "the system resolver is asked where the policy says so" {
  grep -qsw localhost /etc/hosts || skip "localhost stands in no /etc/hosts here"
  start_tls_origin
  policy ".origins[0].origin = \"https://localhost:$origin_port\" | .resolver = \"system\" | .ip_allow = [\"127.0.0.1\", \"::1\"]"
  asks / ".url = \"https://localhost:$origin_port/text/x\""
  gets '"body":"x"'
  [ "$(questions)" = 0 ]
}

@test "an address in the URL needs no lookup" {
  start_tls_origin
  policy ".origins[0].origin = \"https://127.0.0.1:$origin_port\""
  asks / ".url = \"https://127.0.0.1:$origin_port/text/x\""
  gets '"body":"x"'
  [ "$(questions)" = 0 ]
}

@test "redirects lead nowhere but within the origin, and no further than the policy says" {
  start_tls_origin
  policy
  local refused
  for refused in "https://b.test:$origin_port/text/x" "https://a.test/text/x" "http://a.test:$origin_port/text/x" \
    "https://10.0.0.1:$origin_port/" "//b.test/text/x" "https://user:pw@a.test:$origin_port/text/x" "https://2130706433/" \
    "file:///etc/passwd" "gopher://a.test:$origin_port/" "/text/x%23fragment" "/text/../echo" '%5c%5cb.test/'; do
    asks "/redirect/302?$refused"
    fails redirect_refused redirect || { echo "for $refused" >&2; return 1; }
  done
  [ "$(requests)" = 12 ]
  [ "$(questions)" = 24 ]
  asks "/redirect/302?https://b.test:$origin_port/redirect/302%3fhttps://a.test:$origin_port/text/x"
  fails redirect_refused redirect '"why":"other_origin"' "\"to\":\"https://b.test:$origin_port\""
  asks "/redirect/302?/redirect/302%3f/redirect/302%253f/redirect/302%25253f/text/x"
  fails redirect_refused redirect '"why":"too_many"'
  policy '.redirects = "none"'
  asks "/redirect/302?/text/x"
  gets '"status":302' '"location":"/text/x"' '"hops":0'
}

@test "a hop is judged whole: its path, and the method that it becomes" {
  start_tls_origin
  policy '.origins[0].path_prefixes = ["/redirect/", "/text/"]'
  asks "/redirect/302?/echo"
  fails redirect_refused redirect '"why":"not_allowed"'
  policy '.origins[0].methods = ["POST"]'
  for code in 301 302 303; do
    asks "/redirect/$code?/echo" '"method":"POST","body":"b"'
    fails redirect_refused redirect '"why":"method"'
  done
  asks "/redirect/307?/echo" '"method":"POST","body":"b"'
  gets '"hops":1'
  logged '.[-1] | .method == "POST" and .body == "b"'
  policy
  asks "/redirect/303?/echo" '"method":"POST","body":"b"'
  gets '"hops":1'
  logged '.[-1] | .method == "GET" and .body == "" and ([.headers[][0]] | index("Content-Length") == null)'
}

@test "several Locations, and controls in one, refuse" {
  start_tls_origin
  policy
  asks "$(raw 'HTTP/1.1 302 Found\r\nLocation: /text/a\r\nlocation: /text/b\r\nContent-Length: 0\r\n\r\n')"
  fails redirect_refused redirect '"why":"several_locations"'
  asks "$(raw 'HTTP/1.1 302 Found\r\nLocation: /text/a\x0bb\r\nContent-Length: 0\r\n\r\n')"
  fails upstream response
  asks "$(raw 'HTTP/1.1 302 Found\r\nLocation: /text/a\tb\r\nContent-Length: 0\r\n\r\n')"
  fails redirect_refused redirect '"why":"syntax"'
  [ "$(requests)" = 3 ]
}

@test "a credential rides in its header, to its origin, on every hop there" {
  start_tls_origin
  policy
  export GH_TOKEN=s3cret-of-the-test
  asks "/redirect/302?/echo" '"credential":"gh"'
  gets '"hops":1'
  logged 'length == 2 and all(.headers | index([["authorization", "Bearer s3cret-of-the-test"]]) != null)'
  asks /echo
  logged '.[-1].headers | map(.[0] | ascii_downcase) | index("authorization") == null'
}

@test "a credential for another host, one that is not set, empty or of two lines sends nothing" {
  start_tls_origin
  policy '.origins += [.origins[0] | .origin = "https://b.test:'"$origin_port"'" | .secrets = []]'
  export GH_TOKEN=s3cret-of-the-test
  asks / '.url = "https://b.test:'"$origin_port"'/echo" | .credential = "gh"'
  fails not_allowed policy
  asks /echo '.credential = "other"'
  is 1
  policy
  export GH_TOKEN=$'s3cret-of\nthe-test'
  asks /echo '"credential":"gh"'
  fails header_refused secret '"name":"authorization"'
  for value in '' '  '; do
    export GH_TOKEN=$value
    asks /echo '"credential":"gh"'
    fails secret_missing secret '"name":"gh"'
  done
  unset GH_TOKEN
  asks /echo '"credential":"gh"'
  fails secret_missing secret
  [ "$(requests)" = 0 ] && [ "$(questions)" = 0 ]
}

@test "headers that could split, that belong to the client or to a credential refuse before a socket exists" {
  start_tls_origin
  policy '.origins[0].headers += ["x-any"]'
  local value
  for value in '"a\r\nb: c"' '"a\nb"' '"a\rb"' '"a\u0000b"' '"a\u0100b"' '"\u20ac"' '"a\u007fb"' '"a\u001bb"'; do
    asks /echo ".headers = {\"x-note\": $value}"
    fails header_refused request '"name":"x-note"' || { echo "for $value" >&2; return 1; }
  done
  for value in 'a\r\nb' 'a b' 'a:b' '' 'caf\u00e9' '\u0100' 'a\u0000'; do
    asks /echo ".headers = {\"$value\": \"x\"}"
    fails header_refused request || { echo "for $value" >&2; return 1; }
  done
  for value in Host Content-Length transfer-encoding Connection Proxy-Authorization TE Upgrade Expect Cookie Authorization; do
    asks /echo ".headers = {\"$value\": \"x\"}"
    fails header_refused policy '"why":"reserved"' || fails header_refused request '"why":"reserved"' || return 1
  done
  asks /echo '.headers = {"x-unlisted": "x"}'
  fails header_refused policy '"why":"not_listed"'
  [ "$(requests)" = 0 ] && [ "$(questions)" = 0 ]
}

@test "a reflected secret is replaced in text, refused in what is binary, and nowhere to be found" {
  start_tls_origin
  policy
  export GH_TOKEN='m4rker/of+this=test'
  asks /reflect '"credential":"gh"'
  gets '"scrubbed":true' 'authorization: Bearer [secret]'
  for coding in binary gzip; do
    asks "/reflect-$coding" '"credential":"gh"'
    fails upstream body 'holds the credential'
  done
  asks "$(raw 'HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 2\r\n\r\n\x0b\x02')" '"credential":"gh"'
  fails upstream body 'coded'
  local form
  for form in "$(printf %s "$GH_TOKEN" | base64)" "$(printf 'u:%s' "$GH_TOKEN" | base64)" 'm4rker%252Fof%252Bthis%253Dtest'; do
    asks "/text/before-$(jq -rn --arg x "$form" '$x | gsub("%25"; "%") | gsub("%"; "%25")')-after" '"credential":"gh"'
    gets '"scrubbed":true' '"body":"before-'
    [[ $out != *"${form//%25/%}"* ]] || { tell; return 1; }
  done
  asks "$(raw 'HTTP/1.1 200 OK\r\nX-Note: m4rker/of+this=test\r\nContent-Length: 0\r\n\r\n')" '"credential":"gh"'
  gets '"scrubbed":true' '"x-note":"[secret]"'
}

@test "no failure says the secret, whatever the upstream does with it" {
  start_tls_origin
  export GH_TOKEN=m4rkeroftheprinciple
  policy
  asks "/redirect/302?https://$GH_TOKEN.test/$GH_TOKEN" '"credential":"gh"'
  fails redirect_refused redirect
  [[ $out$err != *"$GH_TOKEN"* ]] || { tell; return 1; }
  local bytes
  for bytes in "HTTP/1.1 200 OK\r\n$GH_TOKEN\r\n\r\n" "$GH_TOKEN\r\n\r\n" "HTTP/1.1 200 OK\r\nContent-Length: $GH_TOKEN\r\n\r\n" \
    "HTTP/1.1 302 x\r\nLocation: https://$GH_TOKEN/\r\nLocation: $GH_TOKEN\r\nContent-Length: 0\r\n\r\n"; do
    asks "$(raw "$bytes")" '"credential":"gh"'
    is 1
    [[ $out$err != *"$GH_TOKEN"* ]] || { tell; return 1; }
  done
  policy '.deadline_ms = 2000'
  asks /hang '"credential":"gh"'
  fails deadline response
  [[ $out$err != *"$GH_TOKEN"* ]]
}

@test "while a request runs, the process that holds the secret can be neither traced nor dumped" {
  start_tls_origin
  policy
  export GH_TOKEN=s3cret-of-the-test
  jq -n --arg url "https://a.test:$origin_port/hang" '{url: $url, method: "GET", credential: "gh"}' >"$BATS_TEST_TMPDIR/r.json"
  "$BIN/loom-egress" request --policy "$policy" --request "$BATS_TEST_TMPDIR/r.json" >/dev/null 2>&1 3>&- &
  local pid=$!
  peers+=("$pid")
  timeout 20 tail -n +1 -f "$origin_log" | grep -q -m1 '"target": "/hang"'
  # What is undumpable belongs to root in /proc, whoever runs it.
  [ "$(stat -c %u "/proc/$pid/environ")" = 0 ]
  grep -q '^Max core file size  *0  *0 ' "/proc/$pid/limits"
  [ "$(id -u)" = 0 ] || [ ! -r "/proc/$pid/environ" ]
}

@test "the environment decides nothing: no key log, proxy, roots, modules or search list" {
  start_tls_origin
  policy
  export SSLKEYLOGFILE=$BATS_TEST_TMPDIR/keys OPENSSL_CONF=$BATS_TEST_TMPDIR/conf OPENSSL_MODULES=$BATS_TEST_TMPDIR \
    SSL_CERT_FILE=$PKI/other.pem SSL_CERT_DIR=$PKI CURL_CA_BUNDLE=$PKI/other.pem RES_OPTIONS=ndots:5 LOCALDOMAIN=b.test \
    http_proxy=http://127.0.0.1:1 https_proxy=http://127.0.0.1:1 HTTPS_PROXY=http://127.0.0.1:1 ALL_PROXY=socks5://127.0.0.1:1 \
    all_proxy=socks5://127.0.0.1:1 CURL_HOME=$BATS_TEST_TMPDIR HOME=$BATS_TEST_TMPDIR
  printf 'openssl_conf = x\n[x]\nssl_conf = y\n[y]\nsystem_default = z\n[z]\nMinProtocol = TLSv9\nCipherString = none\n' >"$OPENSSL_CONF"
  printf 'machine a.test login u password p\n' >"$BATS_TEST_TMPDIR/.netrc"
  printf 'proxy = http://127.0.0.1:1\n' >"$BATS_TEST_TMPDIR/.curlrc"
  asks /echo
  gets '"status":200'
  [ ! -e "$SSLKEYLOGFILE" ]
  logged '.[0].headers | map(.[0]) | index("Authorization") == null'
  # The same variables do sway a program that heeds them.
  try curl -sS --cacert "$PKI/root.pem" --resolve "a.test:$origin_port:127.0.0.1" "https://a.test:$origin_port/echo"
  [ "$status" != 0 ]
  policy '.trust.roots = "system"'
  SSL_CERT_FILE=$PKI/root.pem CURL_CA_BUNDLE=$PKI/root.pem asks /echo
  fails tls tls
}

@test "input that cannot be read is a usage error, and a request that makes no sense a no" {
  start_tls_origin
  policy
  try "$BIN/loom-egress" request
  is 2
  says "--policy: must be given"
  try "$BIN/loom-egress" request --policy "$BATS_TEST_TMPDIR/none.json"
  is 2
  says none.json
  try "$BIN/loom-egress" request --policy "$policy" --request "$BATS_TEST_TMPDIR/none.json"
  is 2
  try "$BIN/loom-egress" request --policy - --request -
  is 2
  says "once only"
  echo '{"v":1}' >"$policy.bad"
  try "$BIN/loom-egress" request --policy "$policy.bad" --request "$policy"
  is 2
  says "$policy.bad: "
  try "$BIN/loom-egress" request --policy "$policy" <<<'{"url":'
  fails bad_request request
  asks /text/x '.extra = 1'
  fails bad_request request
  asks /text/x '.method = "POST" | .body = ("x" * 5000)'
  fails bad_request request || fails bad_request policy
  asks /text/x '"method":"HEAD","body":""'
  fails bad_request request '"where":"/body"'
  asks /text/x
  gets '"status":200'
}

@test "with --json a no is on standard output alone" {
  start_tls_origin
  policy
  try "$BIN/loom-egress" request --json --policy "$policy" <<<'{"url":"https://b.test/","method":"GET"}'
  is 1
  silent
  json '.ok == false and .errors[0].code == "not_allowed"'
}
