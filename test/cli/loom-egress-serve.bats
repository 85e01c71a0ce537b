#!/usr/bin/env bats
# loom-egress serve: requests over HTTP for those who hold a token; one judge, one record each, one answer.

load helpers
load origins

MARKER=marker-5ec7e7-value

setup_file() {
  export PKI=$BATS_FILE_TMPDIR/pki
  make_pki "$PKI"
}
setup() {
  dir=$BATS_TEST_TMPDIR
  config=$dir/config.json record=$dir/calls.jsonl socket=$dir/out/s
  export GH_TOKEN=$MARKER
  start_dns a.test=127.0.0.1 silent.test=SILENT
  start_tls_origin
}
teardown() {
  [ -z "${serve_pid:-}" ] || kill "$serve_pid" 2>/dev/null || true
  stop_peers
}

# configure [FILTER]: what these tests serve, changed by a jq filter.
configure() {
  jq -n --arg origin "https://a.test:$origin_port" --arg dns "$dns" --arg roots "$PKI/root.pem" --arg record "$record" '
    {v: 1,
     policy: {v: 1,
       origins: [{origin: $origin, methods: ["GET", "POST", "PUT"], path_prefixes: ["/"], headers: ["accept", "x-note"],
                  secrets: ["gh"]},
                 {origin: "https://nobody.test", methods: ["GET"], path_prefixes: ["/"], headers: [], secrets: []},
                 {origin: "https://silent.test", methods: ["GET"], path_prefixes: ["/"], headers: [], secrets: []}],
       secrets: {gh: {env: "GH_TOKEN", header: "authorization", prefix: "Bearer "}}, redirects: "none", deadline_ms: 20000,
       request_bytes: 4096, response_bytes: 65536, trust: {roots: [$roots]}, ip_allow: ["127.0.0.1/32"], resolver: $dns,
       response_headers: ["content-type"]},
     grants: ["tool:gh@a.test:GET+POST", "plain::GET", "blobs::"], credentials: ["gh"], record: $record} | '"${1:-.}" >"$config.new"
  mv "$config.new" "$config"
}
# serve [ARG...]: starts it and waits until it serves: $serve_pid, $ready.
serve() {
  [ -e "$config" ] || configure
  mkfifo "$dir/ready"
  "$BIN/loom-egress" serve --socket "$socket" --config "$config" --ready-fd 4 "$@" \
    </dev/null >"$dir/serve.out" 2>"$dir/serve.err" 3>&- 4>"$dir/ready" 7>&- &
  serve_pid=$!
  ready=$(line_of "$dir/ready") || { cat "$dir/serve.err" >&2; return 1; }
  rm "$dir/ready"
}
serve_alone() { serve --token-dir "$dir/tokens" "$@"; }
# ended: the status it left with, once it has gone.
ended() {
  local left=0
  ends "$serve_pid" || { echo "it does not end" >&2; return 1; }
  wait "$serve_pid" || left=$?
  serve_pid=
  [ "$left" = "$1" ] || { cat "$dir/serve.err" >&2; echo "left with $left, want $1" >&2; return 1; }
}
token() { cat "$dir/tokens/$1.token"; }
# posts TOKEN BODY [CURL ARG...]: $code is the status of the answer, $out its body.
posts() {
  local with=$1 body=$2
  shift 2
  try curl -sS --max-time 30 -o "$dir/answer" -w '%{http_code}' --unix-socket "$socket" -H "X-Loom-Egress-Token: $with" \
    --data-binary "$body" "$@" http://loom/
  is 0
  code=$out out=$(cat "$dir/answer")
}
# request TARGET [FILTER]: the document of a GET at the origin.
request() { jq -nc --arg url "https://a.test:$origin_port$1" '{url: $url, method: "GET"} | '"${2:-.}"; }
# asks CALLER TARGET [FILTER]
asks() { posts "$(token "$1")" "$(request "$2" "${3:-.}")"; }
# gets STATUS FILTER: the answer has it, and the filter holds of its body.
gets() { [ "$code" = "$1" ] || { tell; echo "got $code, want $1" >&2; return 1; }; json "$2"; }
# records FILTER: holds of the array of all records.
records() { jq -se "$1" "$record" >/dev/null || { cat "$record" >&2; return 1; }; }

@test "a call with a token is performed, recorded and answered, and the credential rides" {
  serve_alone
  [ "$ready" = "ready $socket" ]
  asks tool /echo?key=VALUE '. + {credential: "gh", headers: {"X-Note": "n"}}'
  gets 200 '.status == 200 and .hops == 0 and (.body | fromjson | .headers | any(.[0] == "X-Note"))'
  json '.headers == {"content-type": "application/json"}'
  jq -se --arg v "Bearer $MARKER" '.[0].headers | any(. == ["authorization", $v])' "$origin_log" >/dev/null
  records 'length == 1 and (.[0] | .record == "call" and .caller == "tool" and .method == "GET" and .status == 200 and
    .credential == "gh" and (.destination | endswith("/echo?key=")) and (.request_sha256 | length == 64) and
    (.response_sha256 | length == 64) and .bytes_in > 0 and .bytes_out == 0 and .hops == 0)'
  asks tool /text/x '. + {method: "POST", body: "four"}'
  gets 200 '.body == "x"'
  records 'length == 2 and .[1].bytes_out == 4 and .[1].credential == null'
}

@test "each granted caller has a token of its own in a folder of ours, gone with the endpoint" {
  serve_alone
  [ "$(cd "$dir/tokens" && echo *)" = "blobs.token plain.token tool.token" ]
  [ "$(stat -c %a "$dir/tokens")" = 700 ]
  for caller in blobs plain tool; do
    [ "$(stat -c %a "$dir/tokens/$caller.token")" = 600 ]
    [[ $(token $caller) =~ ^[0-9a-f]{64}$ ]]
  done
  [ "$(cat "$dir"/tokens/*.token | sort -u | wc -l)" = 3 ]
  [ "$(stat -c %a "$socket")" = 600 ]
  local before
  before=$(token tool)
  kill "$serve_pid"
  ended 0
  [ ! -e "$socket" ]
  [ -z "$(ls "$dir/tokens")" ]
  serve_alone
  [ "$(token tool)" != "$before" ]
}

@test "tokens are not written where others can write" {
  configure
  mkdir -m 777 "$dir/tokens"
  try "$BIN/loom-egress" serve --socket "$socket" --config "$config" --token-dir "$dir/tokens"
  is 2
  says "others can write to it"
  rmdir "$dir/tokens"
  mkdir "$dir/elsewhere"
  ln -s elsewhere "$dir/tokens"
  try "$BIN/loom-egress" serve --socket "$socket" --config "$config" --token-dir "$dir/tokens"
  is 2
  says "token_dir" || says "$dir/tokens: "
  [ -z "$(ls "$dir/elsewhere")" ]
}

@test "without a known token the answer is 401, whatever the body is" {
  serve_alone
  posts 0000 '{"not":"read'
  gets 401 '.code == "token"'
  posts "" "$(request /text/x)"
  gets 401 '.code == "token"'
  posts "$(token tool)" "$(request /text/x)" -H "X-Loom-Egress-Token: $(token tool)"
  gets 401 '.code == "token"'
  posts "$(token tool)x" "$(request /text/x)"
  gets 401 '.code == "token"'
  [ ! -s "$origin_log" ]
  records 'all(.record == "refusal" and .caller == "" and .code == "token")'
}

@test "a body of 900 KB with a bad token still reads its 401" {
  serve_alone
  head -c 900000 /dev/zero | tr '\0' 'x' >"$dir/large"
  posts bad @"$dir/large"
  gets 401 '.code == "token"'
  posts bad @"$dir/large" -H 'Expect:'
  gets 401 '.code == "token"'
  # One that writes all before it reads, and is never reset on the way.
  python3 - "$socket" <<'END'
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(b"POST / HTTP/1.1\r\nHost: loom\r\nX-Loom-Egress-Token: bad\r\nContent-Length: 900000\r\n\r\n" + b"x" * 900000)
answer = b""
while True:
    got = s.recv(65536)
    if not got:
        break
    answer += got
assert answer.startswith(b"HTTP/1.1 401 Unauthorized\r\n"), answer
assert b'"code":"token"' in answer
END
}

@test "each refusal has its status, its code and its rule" {
  serve_alone
  python3 - "$socket" "$dir/tokens" "https://a.test:$origin_port/" <<'END'
import json, socket, sys
path, tokens, url = sys.argv[1:]
def call(caller, body):
    token = open(f"{tokens}/{caller}.token").read().strip()
    s = socket.socket(socket.AF_UNIX)
    s.connect(path)
    s.sendall(b"POST / HTTP/1.1\r\nHost: l\r\nX-Loom-Egress-Token: %s\r\nContent-Length: %d\r\n\r\n%s" % (token.encode(), len(body), body))
    answer = b""
    while got := s.recv(65536):
        answer += got
    head, body = answer.split(b"\r\n\r\n", 1)
    return int(head.split()[1]), json.loads(body)
def check(got, status, code, more):
    assert got[0] == status and got[1]["code"] == code and got[1]["error"], (got, status, code)
    for key, value in more.items():
        assert got[1].get(key) == value, (got, key, value)
rows = [
    ("tool", {"more": 1}, 400, "bad_request", {"where": "/more"}),
    ("tool", {"url": "https://127.1/"}, 400, "host_syntax", {}),
    ("tool", {"headers": {"a b": ""}}, 400, "header_refused", {"name": "a?b", "why": "not_a_token"}),
    ("tool", {"headers": {"x-note": "a\nb"}}, 400, "header_refused", {"name": "x-note", "why": "control"}),
    ("tool", {"headers": {"x-note": "\u0100"}}, 400, "header_refused", {"why": "not_latin1"}),
    ("tool", {"headers": {"host": "b.test"}}, 403, "header_refused", {"name": "host", "why": "reserved"}),
    ("tool", {"headers": {"x-other": ""}}, 403, "header_refused", {"name": "x-other", "why": "not_listed"}),
    ("tool", {"url": "https://other.test/"}, 403, "not_allowed", {"rule": "/origins", "stage": "policy"}),
    ("tool", {"url": "http://a.test/"}, 403, "not_allowed", {"rule": "scheme"}),
    ("tool", {"url": url + "a/../b"}, 403, "not_allowed", {"rule": "path_form"}),
    ("tool", {"method": "DELETE"}, 403, "method_not_allowed", {"rule": "/origins/0/methods"}),
    ("tool", {"method": "TRACE"}, 403, "method_not_allowed", {"rule": "method_set"}),
    ("tool", {"method": "PUT"}, 403, "method_not_allowed", {"rule": "grant/methods"}),
    ("plain", {"method": "POST"}, 403, "method_not_allowed", {"rule": "grant/methods"}),
    ("plain", {"credential": "gh"}, 403, "not_allowed", {"rule": "grant/credentials"}),
    ("tool", {"credential": "other"}, 403, "not_allowed", {"rule": "/origins/0/secrets"}),
    ("blobs", {}, 403, "not_allowed", {"rule": "grant"}),
    ("tool", {"url": "https://nobody.test/"}, 502, "dns", {"stage": "resolve"}),
    ("tool", {"method": "POST", "body": "x" * 4097}, 413, "bad_request", {"where": "/body"}),
]
for caller, change, status, code, more in rows:
    check(call(caller, json.dumps({"url": url, "method": "GET", **change}).encode()), status, code, more)
check(call("tool", b'{"method":"GET"}'), 400, "bad_request", {"where": "/url"})
check(call("tool", b"no json"), 400, "bad_request", {"stage": "request"})
check(call("tool", b"x" * 200000), 413, "bad_request", {})
END
  [ ! -s "$origin_log" ]
  records 'all(.record == "refusal") and any(.destination == "other.test:443" and .code == "not_allowed" and .reason == "/origins")'
}

@test "POST /blob has no store to read from, and nothing else is a call" {
  serve_alone
  try curl -sS --unix-socket "$socket" -H "X-Loom-Egress-Token: $(token blobs)" -d '{"uri":"cas://sha256:0"}' http://loom/blob
  is 0
  json '.code == "no_store"'
  try curl -sS --unix-socket "$socket" -H "X-Loom-Egress-Token: $(token tool)" http://loom/
  json '.code == "bad_request"'
  try curl -sS --unix-socket "$socket" http://loom/
  json '.code == "token"'
}

@test "the credential is read at the call, and refused by its name" {
  unset GH_TOKEN
  serve_alone
  asks tool / '. + {credential: "gh"}'
  gets 403 '.code == "secret_missing" and .name == "gh" and .stage == "secret"'
  kill "$serve_pid"
  ended 0
  export GH_TOKEN=$MARKER$'\n'X-Other:\ y
  serve_alone
  asks tool / '. + {credential: "gh"}'
  gets 403 '.code == "header_refused" and .name == "authorization" and .why == "control" and .stage == "secret"'
  [ ! -s "$origin_log" ]
}

@test "a redirect is followed only to a method that policy and grant both let" {
  configure '.policy.redirects = {same_host: 2} | .grants = ["tool::POST", "plain::GET+POST"]'
  serve_alone
  asks plain /redirect/303?/text/x '. + {method: "POST", body: "b"}'
  gets 200 '.body == "x" and .hops == 1'
  records 'length == 1 and .[0].hops == 1 and (.[0].destination | endswith("/text/x"))'
  asks tool /redirect/303?/text/x '. + {method: "POST", body: "b"}'
  gets 502 '.code == "redirect_refused" and .why == "method"'
  asks tool /redirect/307?/text/x '. + {method: "POST", body: "b"}'
  gets 200 '.body == "x" and .hops == 1'
}

@test "no value of a secret is in any output, record, answer or file" {
  serve_alone
  asks tool /reflect '. + {credential: "gh"}'
  gets 200 '.scrubbed and (.body | contains("[secret]"))'
  posts "$(token tool)" "$(request "/redirect/302?https://$MARKER.test/" '. + {credential: "gh"}')"
  asks tool /reflect-binary '. + {credential: "gh"}'
  gets 502 '.code == "upstream"'
  asks plain / '. + {credential: "gh"}'
  configure '.policy.redirects = {same_host: 2}'
  asks tool "/redirect/302?https://$MARKER.test/" '. + {credential: "gh"}'
  gets 502 '.code == "redirect_refused" and .to == "https://[secret].test"'
  asks tool "/raw?$(printf 'HTTP/1.1 302 Found\r\nLocation: /text/%s?%s=1\r\nContent-Length: 0\r\n\r\n' "$MARKER" "$MARKER" |
    base64 -w0 | tr '+/' '-_')" '. + {credential: "gh"}'
  gets 200 '.hops == 1 and .body == "[secret]"'
  records 'any(.destination // "" | endswith("/[secret]"))'
  tr '\0' '\n' <"/proc/$serve_pid/cmdline" >"$dir/cmdline"
  # Nobody of the same user reads its memory or its environment, and it leaves no core.
  [ "$(stat -c %u "/proc/$serve_pid/environ")" = 0 ]
  grep -q '^Max core file size  *0  *0 ' "/proc/$serve_pid/limits"
  [ "$(id -u)" = 0 ] || ! cat "/proc/$serve_pid/environ" >/dev/null 2>&1
  kill "$serve_pid"
  ended 0
  records 'length > 3'
  [ "$(grep -rlF "$MARKER" "$dir" | grep -vF -e "$origin_log" -e /ca.)" = "" ] || { grep -rF "$MARKER" "$dir" >&2; return 1; }
}

@test "refused calls spend the budget of 64 too, and each caller has a budget of its own" {
  serve_alone
  python3 - "$socket" "$(token tool)" "$(token plain)" "$(request /text/x)" <<'END'
import json, socket, sys
def call(token, body):
    s = socket.socket(socket.AF_UNIX)
    s.connect(sys.argv[1])
    s.sendall(b"POST / HTTP/1.0\r\nX-Loom-Egress-Token: %s\r\nContent-Length: %d\r\n\r\n%s" % (token.encode(), len(body), body.encode()))
    answer = b""
    while got := s.recv(65536):
        answer += got
    head, body = answer.split(b"\r\n\r\n", 1)
    return int(head.split()[1]), json.loads(body)
tool, plain, request = sys.argv[2:]
for n in range(63):
    assert call(tool, "nothing")[0] == 400, n
status, body = call(tool, request)
assert status == 200, body
for body in (request, request):
    status, answer = call(tool, body)
    assert (status, answer["code"], answer["rule"]) == (403, "not_allowed", "calls"), answer
assert call(plain, request)[0] == 200
END
  # The sixty-three are one refusal, told each time its count has doubled.
  records '[.[] | select(.record == "refusal" and .code == "bad_request") | .count] == [1, 2, 4, 8, 16, 32]'
  kill "$serve_pid"
  ended 0
  records '[.[] | select(.record == "refusal" and .code == "bad_request") | .count] | last == 63'
}

# The one table of host spellings, by the front end POST /: the policy lists every canonical host of it, and the grant lets
# no GET, so that what host and address let is told by the rule that comes next and nothing is connected to.
@test "POST / gives the verdict of every row of the host table" {
  grep -v '^#' "$TREE/test/support/vectors/hosts.tsv" | cut -f3 | sort -u | jq -Rn '
    [inputs | select(. != "") | if contains(":") then "[\(.)]" else . end | ., "\(.):8443", "\(.):65535" | "https://\(.)"]' >"$dir/origins"
  jq --slurpfile o "$dir/origins" '.policy.origins = ($o[0] | map({origin: ., methods: ["GET"], path_prefixes: ["/"], headers: [],
    secrets: []})) | .policy.ip_allow = [] | .credentials = [] | .grants = [range(9) | "t\(.)::POST"]' \
    < <(configure && cat "$config") >"$dir/table.json"
  mv "$dir/table.json" "$config"
  serve_alone
  python3 - "$socket" "$dir/tokens" "$TREE/test/support/vectors/hosts.tsv" <<'END'
import json, re, socket, sys
tokens = [open(f"{sys.argv[2]}/t{n}.token").read().strip() for n in range(9)]
def call(token, body):
    s = socket.socket(socket.AF_UNIX)
    s.connect(sys.argv[1])
    s.sendall(b"POST / HTTP/1.1\r\nHost: loom\r\nX-Loom-Egress-Token: %s\r\nContent-Length: %d\r\n\r\n%s" % (token.encode(), len(body), body))
    answer = b""
    while got := s.recv(65536):
        answer += got
    return json.loads(answer.split(b"\r\n\r\n", 1)[1])
rows = 0
for line in open(sys.argv[3], encoding="ascii"):
    if line.startswith("#"):
        continue
    authority, verdict, canonical = line.rstrip("\n").split("\t")
    raw = re.sub(rb"\\x(..)", lambda m: bytes([int(m[1], 16)]), authority.encode())
    try:
        text = json.dumps("https://" + raw.decode() + "/")
    except UnicodeDecodeError:
        continue  # no JSON holds it
    got = call(tokens[rows // 60], b'{"method":"GET","url":' + text.encode() + b"}")
    rows += 1
    if verdict in ("name", "public"):
        want = {"code": "method_not_allowed", "rule": "grant/methods"}
    elif verdict == "host_syntax":
        want = {"code": "host_syntax"}
    else:
        want = {"code": "address_refused", "why": verdict.split()[1], "address": canonical}
    assert all(got.get(k) == v for k, v in want.items()), (authority, verdict, got)
assert rows > 140, rows
END
  [ ! -s "$dns_log" ]
}

@test "slow callers and a slow upstream hold nobody up" {
  serve_alone
  python3 - "$socket" "$(token tool)" "$(token plain)" "$(request /hang)" "$(request /text/quick)" <<'END'
import socket, sys
path, tool, plain, hang, quick = sys.argv[1:]
def open_call(token, body, upto=None):
    s = socket.socket(socket.AF_UNIX)
    s.connect(path)
    s.sendall((b"POST / HTTP/1.1\r\nHost: loom\r\nX-Loom-Egress-Token: %s\r\nContent-Length: %d\r\n\r\n%s" % (token.encode(), len(body), body.encode()))[:upto])
    return s
slow = [open_call(tool, quick, n) for n in (0, 1, 30, -1)]  # nothing, a byte, half a head, all but a byte
hanging = [open_call(tool, hang) for _ in range(3)]         # an upstream that never answers
for _ in range(5):
    s = open_call(plain, quick)
    answer = b""
    while got := s.recv(65536):
        answer += got
    assert b"HTTP/1.1 200" in answer and b'"body":"quick"' in answer, answer
for s in hanging:  # still on their way
    s.setblocking(False)
    try:
        assert s.recv(1) is None
    except BlockingIOError:
        pass
s = slow[3]
s.sendall(quick[-1:].encode())
assert s.recv(12) == b"HTTP/1.1 200"
END
}

@test "a caller that says nothing, stops in its head or sends it a byte at a time is closed, and its place is free" {
  serve_alone
  python3 - "$socket" <<'END'
import select, socket, sys
def begun(piece):
    s = socket.socket(socket.AF_UNIX)
    s.connect(sys.argv[1])
    s.sendall(piece)
    return s
slow = begun(b"P")
waiting = [begun(b""), begun(b"POST / HTTP/1.1\r\nHost: l"), slow]
for byte in b"OST / HTTP/1.1\r\nHost: l\r\nX: " + b"y" * 200:
    if select.select([slow], [], [], 0.25)[0]:
        break
    slow.sendall(bytes([byte]))
for s in waiting:
    s.settimeout(40)
    assert s.recv(1) == b""
END
}

@test "serve heeds nothing of its environment either: no key log, proxy, roots or modules" {
  export SSLKEYLOGFILE=$dir/keys OPENSSL_CONF=$dir/conf SSL_CERT_FILE=$PKI/other.pem CURL_CA_BUNDLE=$PKI/other.pem \
    https_proxy=http://127.0.0.1:1 ALL_PROXY=socks5://127.0.0.1:1
  printf 'openssl_conf = x\n[x]\nssl_conf = y\n[y]\nsystem_default = z\n[z]\nMinProtocol = TLSv9\n' >"$OPENSSL_CONF"
  serve_alone
  unset SSLKEYLOGFILE OPENSSL_CONF SSL_CERT_FILE CURL_CA_BUNDLE https_proxy ALL_PROXY
  asks tool /text/x
  gets 200 '.body == "x"'
  [ ! -e "$dir/keys" ]
}

@test "malformed heads are refused and closed" {
  serve_alone
  python3 - "$socket" "$(token tool)" <<'END'
import socket, sys
def send(raw):
    s = socket.socket(socket.AF_UNIX)
    s.connect(sys.argv[1])
    s.sendall(raw)
    s.shutdown(socket.SHUT_WR)
    answer = b""
    while got := s.recv(65536):
        answer += got
    return answer[:12]
token = b"X-Loom-Egress-Token: " + sys.argv[2].encode() + b"\r\n"
body = b'{"url":"https://127.1/","method":"GET"}'
length = b"Content-Length: %d\r\n" % len(body)
bad = [b"POST / HTTP/1.1\r\nHost: a\r\nHost: b\r\n" + token + length + b"\r\n" + body,
       b"POST / HTTP/1.1\nHost: a\n\n",
       b"POST / HTTP/1.1\r\nHost: a\r\n" + token + length + length + b"\r\n" + body,
       b"POST / HTTP/1.1\r\nHost: a\r\n" + token + length + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
       b"POST / HTTP/1.1\r\nHost: a\r\n" + token + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
       b"POST / HTTP/1.1\r\nHost: a\r\n" + token + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
       b"POST / HTTP/1.1\r\nHost: a\r\nX: y\r\n folded\r\n" + token + length + b"\r\n" + body,
       b"GET / HTTP/2.0\r\n\r\n", b"nonsense\r\n\r\n", b"POST / HTTP/1.1\r\nX: " + b"y" * 20000]
for raw in bad:
    assert send(raw) == b"HTTP/1.1 400", (raw[:60], send(raw))
# Half a request gets no answer, and one with a host that is refused gets its own 400.
assert send(b"POST / HTTP/1.1\r\nHost: a\r\n" + token + b"Content-Length: 50\r\n\r\nx") == b""
assert send(b"POST / HTTP/1.0\r\n" + token + length + b"\r\n" + body) == b"HTTP/1.1 400"
END
  posts "$(token tool)" "$(request /text/x)" -H 'Expect: 100-continue'
  gets 200 '.body == "x"'
}

@test "a record that cannot be written is a refusal" {
  configure
  # Room for a few lines. A file that may grow no further is as good as a full disk.
  ulimit -S -f 1
  serve_alone
  ulimit -S -f unlimited
  local calls=0
  while asks tool /text/x && [ "$code" = 200 ] && [ "$calls" -lt 20 ]; do calls=$((calls + 1)); done
  gets 503 '.code == "record_failed"'
  [ "$calls" -gt 0 ]
  # Each record is whole, and each call that was answered with 200 has its own.
  records "length == $calls and all(.record == \"call\")"
  asks tool /text/x
  gets 503 '.code == "record_failed"'
  [ "$(grep -c "cannot write it" "$dir/serve.err")" = 1 ]
  try "$BIN/loom-egress" serve --socket "$dir/other/s" --config "$config" --token-dir "$dir/t2" --record /dev/full
  is 2
  says "/dev/full: not a regular file"
}

@test "records go on in a new file when the old one was moved away" {
  serve_alone
  asks tool /text/x
  mv "$record" "$record.1"
  asks tool /text/x
  gets 200 '.body == "x"'
  records 'length == 1'
  [ "$(wc -l <"$record.1")" = 1 ]
  rm "$record"
  asks tool / '. + {method: "DELETE"}'
  records 'length == 1 and .[0].record == "refusal"'
}

@test "a configuration that becomes unreadable closes the door, and a changed one counts at once" {
  serve_alone
  asks tool /text/x
  gets 200 '.body == "x"'
  mv "$config" "$config.away"
  asks tool /text/x
  gets 503 '.code == "closed"'
  echo '{"v":1' >"$config"
  asks tool /text/x
  gets 503 '.code == "closed"'
  grep -q "$config: " "$dir/serve.err"
  rm "$config"
  mv "$config.away" "$config"
  asks tool /text/x
  gets 200 '.body == "x"'
  configure '.grants = ["plain::GET"]'
  asks tool /text/x
  gets 403 '.code == "not_allowed" and .rule == "grant"'
  asks plain /text/x
  gets 200 '.body == "x"'
  configure '.policy.origins = []'
  asks plain /text/x
  gets 403 '.code == "not_allowed" and .rule == "/origins"'
}

@test "tokens that are told on a descriptor come, expire and are revoked, and the endpoint ends with whoever tells them" {
  digest() { printf %s "$1" | sha256sum | cut -d' ' -f1; }
  # What was told before a caller comes holds for that caller.
  told() { echo "$1" >&7; }
  mkfifo "$dir/feed"
  exec 7<>"$dir/feed"
  configure
  serve --tokens-fd 5 5<"$dir/feed"
  posts one "$(request /text/x)"
  gets 401 '.code == "token"'
  told "{\"token_sha256\":\"$(digest one)\",\"caller\":\"tool\",\"run\":\"run-7\",\"expires\":0}"
  posts one "$(request /text/x)"
  gets 200 '.body == "x"'
  records 'any(.record == "call" and .run == "run-7" and .caller == "tool")'
  told "{\"token_sha256\":\"$(digest old)\",\"caller\":\"tool\",\"run\":\"\",\"expires\":1000}"
  posts old "$(request /text/x)"
  gets 401 '.code == "token"'
  told "{\"token_sha256\":\"$(digest stranger)\",\"caller\":\"stranger\",\"run\":\"\",\"expires\":0}"
  posts stranger "$(request /text/x)"
  gets 403 '.rule == "grant"'
  told "{\"revoke\":\"$(digest one)\"}"
  posts one "$(request /text/x)"
  gets 401 '.code == "token"'
  exec 7>&-
  ended 0
  [ ! -e "$socket" ]
}

@test "what is no notice of a token ends the endpoint" {
  mkfifo "$dir/feed"
  exec 7<>"$dir/feed"
  configure
  serve --tokens-fd 5 5<"$dir/feed"
  echo '{"token":"plain text"}' >&7
  ended 1
  exec 7>&-
  grep -q -- "--tokens-fd: " "$dir/serve.err"
}

@test "with few descriptors accepting pauses without spinning, resumes, and says so once" {
  configure
  ulimit -S -n 32
  serve_alone
  ulimit -S -n "$(ulimit -H -n)"
  python3 - "$socket" "$(token plain)" "$(request /text/x)" <<'END'
import socket, sys
path, token, body = sys.argv[1:]
idle = []
for _ in range(60):
    s = socket.socket(socket.AF_UNIX)
    s.connect(path)
    idle.append(s)
for s in idle:
    s.close()
s = socket.socket(socket.AF_UNIX)
s.connect(path)
s.sendall(b"POST / HTTP/1.1\r\nHost: l\r\nX-Loom-Egress-Token: %s\r\nContent-Length: %d\r\n\r\n%s" % (token.encode(), len(body), body.encode()))
assert s.recv(12) == b"HTTP/1.1 200"
END
  [ "$(grep -c "accepting pauses" "$dir/serve.err")" = 1 ]
  # What it spent of the processor while callers waited is little: hundredths of a second.
  [ "$(awk '{print $14 + $15}' "/proc/$serve_pid/stat")" -lt 200 ]
}

@test "those without a token who take every place are sent away for one who has it" {
  configure
  ulimit -S -n 64
  serve_alone --tcp
  ulimit -S -n "$(ulimit -H -n)"
  python3 - "${ready##*:}" "$(token plain)" "$(request /text/x)" <<'END'
import socket, sys
port, token, body = int(sys.argv[1]), sys.argv[2], sys.argv[3]
# At 10 seconds a head they would hold every place for well over a minute.
idle = [socket.create_connection(("127.0.0.1", port)) for _ in range(120)]
s = socket.create_connection(("127.0.0.1", port))
s.sendall(b"POST / HTTP/1.1\r\nHost: l\r\nX-Loom-Egress-Token: %s\r\nContent-Length: %d\r\n\r\n%s" % (token.encode(), len(body), body.encode()))
s.settimeout(40)
assert s.recv(12) == b"HTTP/1.1 200"
END
}

@test "a caller who opens connections and never ends a request has 64 of them, and leaves the others theirs" {
  serve_alone
  python3 - "$socket" "$(token tool)" "$(token plain)" "$(request /text/x)" <<'END'
import select, socket, sys
path, tool, plain, body = sys.argv[1:]
def opened(token, upto=None):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(40)
    s.connect(path)
    s.sendall((b"POST / HTTP/1.1\r\nHost: l\r\nX-Loom-Egress-Token: %s\r\nContent-Length: %d\r\n\r\n%s" % (token.encode(), len(body), body.encode()))[:upto])
    return s
slow = [opened(tool, -1) for _ in range(70)]
answered = set()
while len(answered) < 6:
    answered.update(select.select([s for s in slow if s not in answered], [], [], 40)[0])
for s in answered:
    assert s.recv(12) == b"HTTP/1.1 403"
assert opened(plain).recv(12) == b"HTTP/1.1 200"
left = [s for s in slow if s not in answered]
left[0].sendall(body[-1:].encode())
assert left[0].recv(9) == b"HTTP/1.1 "
END
}

@test "--tcp listens on loopback as well, and nobody reaches that through us" {
  serve_alone --tcp
  local tcp=${ready##* }
  [[ $tcp == 127.0.0.1:* ]]
  try curl -sS -H "X-Loom-Egress-Token: $(token plain)" -d "$(request /text/x)" "http://$tcp/"
  json '.body == "x"'
  try curl -sS -d "$(request /text/x)" "http://$tcp/"
  json '.code == "token"'
  configure ".policy.origins[1].origin = \"https://$tcp\""
  posts "$(token plain)" "{\"url\":\"https://$tcp/\",\"method\":\"GET\"}"
  gets 403 '.code == "address_refused" and .why == "own_listener"'
}

# calls_in_background TARGET: a call is under way, and has come to its upstream; its answer goes to $dir/late.
calls_in_background() {
  curl -sS --unix-socket "$socket" -H "X-Loom-Egress-Token: $(token tool)" -d "$(request "$1")" http://loom/ >"$dir/late" 2>&1 3>&- &
  caller=$!
  until grep -qF "$1" "$origin_log"; do kill -0 "$serve_pid" || return 1; done
}
# told_to_end: and has heard it, for its socket has gone.
told_to_end() {
  kill "$serve_pid"
  while [ -e "$socket" ]; do kill -0 "$serve_pid" || return 1; done
}

@test "told to end it lets a call under way be answered, and ends" {
  mkdir "$dir/files"
  mkfifo "$dir/files/late"
  start_tls_origin --files "$dir/files"
  serve_alone
  calls_in_background /files/late
  told_to_end
  echo "after all" >"$dir/files/late"
  ended 0
  wait "$caller"
  jq -e '.status == 200 and .body == "after all\n"' "$dir/late"
  records 'length == 1 and .[0].status == 200'
}

@test "told twice to end it ends at once, and records what it gave up" {
  serve_alone
  calls_in_background /hang
  told_to_end
  kill "$serve_pid"
  ended 0
  wait "$caller" || true
  # What became of the call is not known, and its record says so.
  records 'length == 1 and .[0].record == "call" and .[0].status == 0 and .[0].code == "upstream"'
}

@test "serve: what cannot be served is said, and nothing is left behind" {
  configure
  for args in "--config $config --token-dir $dir/t" "--socket $socket --token-dir $dir/t" "--socket $socket --config $config" \
    "--socket $socket --config $config --token-dir $dir/t --tokens-fd 0" "--socket $socket --config $config --tokens-fd 99" \
    "--socket $socket --config $config --token-dir $dir/t --tcp=0443" "--socket relative --config $config --token-dir $dir/t" \
    "--socket $socket --config $dir/missing --token-dir $dir/t"; do
    # shellcheck disable=SC2086
    try "$BIN/loom-egress" serve $args
    is 2
    [ -n "$err" ]
    [ -z "$out" ]
  done
  [ ! -e "$socket" ]
  [ -z "$(ls "$dir/t" 2>/dev/null)" ]
  serve_alone
  try "$BIN/loom-egress" serve --socket "$socket" --config "$config" --token-dir "$dir/t3"
  is 2
  says "somebody answers there already"
}
