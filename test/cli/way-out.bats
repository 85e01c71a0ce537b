#!/usr/bin/env bats
# Network mode "proxy" from end to end: real jails, the real bridge, the real proxy, real clients, TLS origins and a name
# server of the test's (spec/egress.md "How the jail reaches it").

load helpers
load origins

setup_file() {
  export PKI=$BATS_FILE_TMPDIR/pki
  make_pki "$PKI"
}

setup() {
  W=$BATS_TEST_TMPDIR/w R=$BATS_TEST_TMPDIR/r.json
  export LOOM_RUNTIME_DIR=$BATS_TEST_TMPDIR/rt
  mkdir "$W"
  cp "$PKI/root.pem" "$W/ca.pem"
  cd "$W" || return
  broker=
}

teardown() {
  [ -z "$broker" ] || kill -9 "$broker" 2>/dev/null || true
  stop_peers
}

# The origin, the name server, and test/support/egress.json with that server.
start_world() {
  start_tls_origin "$@"
  start_dns git.test=127.0.0.1 other.test=127.0.0.1 a.test=127.0.0.1 registry.test=127.0.0.1
  jq --arg dns "$dns" '.policy.resolver = $dns' "$TREE/test/support/egress.json" >"$BATS_TEST_TMPDIR/egress.json"
}

run_out() {
  try "$BIN/loom-broker" run --workspace "$W" --egress-config "$BATS_TEST_TMPDIR/egress.json" --report "$R" "$@"
}
report() { jq -e "$1" "$R" >/dev/null || { tell; jq -c . "$R" >&2; echo "want $1" >&2; return 1; }; }
fetch() { echo "curl -sS --max-time 20 --cacert ca.pem https://$1:$origin_port/text/hello"; }

jail_dirs() { find "$LOOM_RUNTIME_DIR" -maxdepth 1 -name 'jail-*' 2>/dev/null | wc -l; }

# Nothing is left of a broker that has ended: no directory of its sockets, no proxy.
clean() {
  [ "$(jail_dirs)" = 0 ] || { ls -lR "$LOOM_RUNTIME_DIR" >&2; return 1; }
  nobody "$LOOM_RUNTIME_DIR/jail-"
}

start_broker() {
  "$BIN/loom-policy" default "$W" --fit >"$BATS_TEST_TMPDIR/base.json" 2>/dev/null
  export LOOM_SOCKET=$LOOM_RUNTIME_DIR/broker.sock
  mkfifo "$BATS_TEST_TMPDIR/ready"
  "$BIN/loom-broker" serve --base-policy "$BATS_TEST_TMPDIR/base.json" --grants allow \
    --egress-config "$BATS_TEST_TMPDIR/egress.json" --ready-fd 4 4>"$BATS_TEST_TMPDIR/ready" \
    2>"$BATS_TEST_TMPDIR/log" </dev/null 3>&- &
  broker=$!
  line_of "$BATS_TEST_TMPDIR/ready" >/dev/null || { cat "$BATS_TEST_TMPDIR/log" >&2; return 1; }
}
snapshot() { "$BIN/loom-broker" snapshot --json | jq -e -c "$1"; }

@test "a listed host is reached, another one is not, and the end says which" {
  start_world
  run_out --allow-host "git.test:$origin_port" -- sh -c "$(fetch git.test); echo; $(fetch other.test)"
  is 56
  answers hello
  says "loom-broker: egress: other.test:$origin_port refused: not_allowed"
  report '[.enforcement[] | select(startswith("egress-proxy:"))] | length == 1'
  report '.enforcement | index("verified:egress-proxy")'
  report ".egress == [{destination: \"other.test:$origin_port\", reason: \"not_allowed\"}]"
  report '.denied == []'
  # The name server was not even asked.
  [ "$(grep -c other.test "$dns_log")" = 0 ]
  clean
}

@test "each distinct refusal is one line, however often it was tried" {
  start_world
  run_out --allow-host "git.test:$origin_port" -- sh -c \
    "for i in 1 2 3; do $(fetch other.test); done; curl -sS --max-time 20 https://a.test:22/; true"
  is 0
  [ "$(grep -c ' refused: ' <<<"$err")" = 2 ] || { tell; return 1; }
  says "egress: a.test:22 refused: not_allowed"
}

@test "git clones over https, and from another host it does not" {
  mkdir "$BATS_TEST_TMPDIR/git"
  make_git_origin "$BATS_TEST_TMPDIR/git"
  start_world --git "$BATS_TEST_TMPDIR/git"
  run_out --env "GIT_SSL_CAINFO=$W/ca.pem" --allow-host "git.test:$origin_port" -- \
    git clone -q "https://git.test:$origin_port/repo.git"
  is 0
  [ "$(cat repo/file)" = text ]
  run_out --env "GIT_SSL_CAINFO=$W/ca.pem" --allow-host "git.test:$origin_port" -- \
    git clone -q "https://other.test:$origin_port/repo.git" again
  is 128
  says "egress: other.test:$origin_port refused: not_allowed"
  [ ! -e again ]
}

@test "wget and Python's urllib find the proxy by themselves" {
  start_world
  run_out --allow-host "git.test:$origin_port" -- \
    wget -q -T 20 -t 1 -O - --ca-certificate=ca.pem "https://git.test:$origin_port/text/hello"
  is 0
  answers hello
  run_out --allow-host "git.test:$origin_port" -- /usr/bin/python3 -c "
import ssl, urllib.request
print(urllib.request.urlopen('https://git.test:$origin_port/text/hello', timeout=20,
                             context=ssl.create_default_context(cafile='ca.pem')).read().decode())"
  is 0
  answers hello
}

# client COMMAND...: a package manager that is told the test's root, and may reach the test's registry.
client() {
  run_out --allow-host "registry.test:$origin_port" --env "npm_config_cafile=$W/ca.pem" --env "npm_config_cache=$W/cache" \
    --env "PIP_CERT=$W/ca.pem" -- "$@"
}
start_registry() {
  mkdir "$BATS_TEST_TMPDIR/files"
  start_world --files "$BATS_TEST_TMPDIR/files"
  registry=https://registry.test:$origin_port/files/
  python3 -B "$TREE/test/support/registry.py" "$BATS_TEST_TMPDIR/files" "$registry"
}

@test "npm installs from a registry" {
  command -v npm >/dev/null || skip "no npm here"
  start_registry
  client npm install --no-audit --no-fund --no-update-notifier --registry "$registry" tiny
  is 0
  [ -e node_modules/tiny/package.json ]
  report '.egress == []'
}

@test "pip downloads from a registry" {
  /usr/bin/python3 -m pip --version >/dev/null 2>&1 || skip "no pip here"
  start_registry
  client /usr/bin/python3 -m pip download -q --no-index --no-deps --disable-pip-version-check --retries 0 \
    --find-links "${registry}links.html" tiny
  is 0
  [ -e tiny-1.0-py3-none-any.whl ]
  report '.egress == []'
}

@test "beside the proxy there is nothing: no address, no other port, no datagram, no raw socket, no netlink" {
  start_world
  run_out --allow-host "git.test:$origin_port" -- sh -c "curl -sS --max-time 20 --noproxy '*' https://127.0.0.1:$origin_port/"
  is 7
  # Where no rule of the port is asked first (Landlock's, which speaks of "permission"), there is no route.
  run_out --allow-host "git.test:$origin_port" -- sh -c "curl -v --max-time 20 --noproxy '*' http://192.0.2.1:3128/"
  is 7
  says "Network is unreachable"
  run_out --allow-host "git.test:$origin_port" -- /usr/bin/python3 -c "
import socket
for family in ('AF_INET', 'AF_INET6', 'AF_NETLINK', 'AF_PACKET', 'AF_VSOCK'):
  for kind in ('SOCK_DGRAM', 'SOCK_RAW'):
    try:
      socket.socket(getattr(socket, family), getattr(socket, kind))
      print(family, kind, 'made')
    except OSError:
      pass
print('tried')"
  is 0
  [ "$out" = tried ] || { tell; return 1; }
}

@test "the caller's own proxy variables do not reach the command" {
  start_world
  https_proxy=http://evil.test:1 no_proxy='*' NODE_USE_ENV_PROXY=0 run_out --env https_proxy --env no_proxy \
    --env NODE_USE_ENV_PROXY --allow-host "git.test:$origin_port" -- sh -c 'echo "$https_proxy $no_proxy $NODE_USE_ENV_PROXY"'
  is 0
  [ "$out" = "http://127.0.0.1:3128 localhost,127.0.0.1,::1 1" ] || { tell; return 1; }
}

@test "two calls with different lists at once: each reaches its own and not the other's" {
  start_world
  start_broker
  local name
  for name in git other; do
    mkfifo "$W/$name.go" "$W/$name.up"
    "$BIN/loom-broker" call --workspace "$W" --allow-host "$name.test:$origin_port" --report "$BATS_TEST_TMPDIR/$name.json" -- \
      sh -c "echo up >$name.up; read go <$name.go; $(fetch git.test); echo; $(fetch other.test); true" \
      >"$BATS_TEST_TMPDIR/$name.out" 2>"$BATS_TEST_TMPDIR/$name.err" </dev/null 3>&- &
    eval "${name}_pid=\$!"
  done
  line_of git.up
  line_of other.up
  snapshot '.egress.proxies | length == 2 and all(.users == 1 and .phase == "ready" and .pid > 0)'
  echo go >git.go
  echo go >other.go
  wait "$git_pid"
  wait "$other_pid"
  for name in git other; do
    grep -q hello "$BATS_TEST_TMPDIR/$name.out"
  done
  grep -q "^loom-broker: egress: other.test:$origin_port refused: not_allowed$" "$BATS_TEST_TMPDIR/git.err"
  grep -q "^loom-broker: egress: git.test:$origin_port refused: not_allowed$" "$BATS_TEST_TMPDIR/other.err"
  snapshot '.egress.refusals == 2'
  "$BIN/loom-broker" stop
  wait "$broker"
  broker=
  clean
}

@test "two calls on one proxy: each is told of its own refusals alone" {
  start_world
  start_broker
  local name
  for name in one two; do
    mkfifo "$W/$name.go" "$W/$name.up"
    "$BIN/loom-broker" call --workspace "$W" --allow-host "git.test:$origin_port" --report "$BATS_TEST_TMPDIR/$name.json" -- \
      sh -c "echo up >$name.up; read go <$name.go; curl -sS --max-time 20 https://$name.test/; echo up >$name.up; read go <$name.go" \
      >/dev/null 2>"$BATS_TEST_TMPDIR/$name.err" </dev/null 3>&- &
    eval "${name}_pid=\$!"
  done
  for name in one two; do line_of $name.up; done
  snapshot '.egress.proxies | length == 1 and .[0].users == 2'
  for name in one two; do echo go >$name.go; done
  for name in one two; do line_of $name.up; done
  for name in one two; do echo go >$name.go; done
  wait "$one_pid"
  wait "$two_pid"
  jq -e '.egress == [{destination: "one.test:443", reason: "not_allowed"}]' "$BATS_TEST_TMPDIR/one.json"
  jq -e '.egress == [{destination: "two.test:443", reason: "not_allowed"}]' "$BATS_TEST_TMPDIR/two.json"
}

@test "a proxy that is killed in mid-call is started once more, and after that the way out is closed" {
  start_world
  start_broker
  mkfifo "$W/go" "$W/up"
  # The end of a try is what the next step waits for.
  "$BIN/loom-broker" call --workspace "$W" --allow-host "git.test:$origin_port" --report "$R" -- \
    sh -c "for i in 1 2 3; do echo up >up; read go <go; $(fetch git.test) && echo; done; true" \
    >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" </dev/null 3>&- &
  local call=$! proxy
  line_of up
  echo go >go
  line_of up
  proxy=$(snapshot '.egress.proxies[0].pid')
  kill -9 "$proxy"
  ends "$proxy"
  echo go >go
  line_of up
  snapshot '.egress.proxies[0] | .losses == 1 and .phase == "ready"'
  proxy=$(snapshot '.egress.proxies[0].pid')
  kill -9 "$proxy"
  ends "$proxy"
  snapshot '.egress.proxies[0] | .losses == 2 and .phase == "down"'
  echo go >go
  wait "$call"
  [ "$(grep -c hello "$BATS_TEST_TMPDIR/out")" = 2 ] || { cat "$BATS_TEST_TMPDIR/out" "$BATS_TEST_TMPDIR/err" >&2; return 1; }
  report '.enforcement | index("event:egress-lost=2")'
  # Another call gets another proxy.
  try "$BIN/loom-broker" call --workspace "$W" --allow-host "git.test:$origin_port" -- sh -c "$(fetch git.test)"
  is 0
  answers hello
}

@test "a broker that is killed leaves no proxy, and the next one sweeps what it left" {
  start_world
  start_broker
  mkfifo "$W/up"
  "$BIN/loom-broker" call --workspace "$W" --allow-host "git.test:$origin_port" -- sh -c "echo up >up; sleep 1000" \
    >/dev/null 2>&1 </dev/null 3>&- &
  local call=$! proxy
  line_of up
  proxy=$(snapshot '.egress.proxies[0].pid')
  kill -9 "$broker"
  wait "$broker" || true
  ends "$proxy"
  wait "$call" || true
  [ "$(jail_dirs)" = 1 ]
  run_out --allow-host "git.test:$origin_port" -- sh -c "$(fetch git.test)"
  is 0
  broker=
  clean
}

@test "a proxy that does not start is egress_unavailable, with its own words" {
  cp -r "$BIN" "$BATS_TEST_TMPDIR/bin"
  printf '#!/bin/sh\necho "loom-egress: no luck" >&2\nexit 3\n' >"$BATS_TEST_TMPDIR/bin/loom-egress"
  try "$BATS_TEST_TMPDIR/bin/loom-broker" run --workspace "$W" --report "$R" --allow-host git.test -- touch ran
  is 125
  says egress_unavailable
  says "exit status 3"
  says "no luck"
  report '.outcome.refused.reason == "egress_unavailable"'
  [ ! -e ran ]
  clean
  # One that serves but answers nothing: the layer is missing, and nothing runs.
  printf '#!/bin/sh\necho ready\nexec sleep 1000 >/dev/null\n' >"$BATS_TEST_TMPDIR/bin/loom-egress"
  try "$BATS_TEST_TMPDIR/bin/loom-broker" run --workspace "$W" --report "$R" --allow-host git.test -- touch ran
  is 125
  says "skip:egress-proxy: the proxy did not answer 204"
  [ ! -e ran ]
  clean
}

@test "without loom-egress the network is off, an ordinary narrowing" {
  cp -r "$BIN" "$BATS_TEST_TMPDIR/bin"
  rm "$BATS_TEST_TMPDIR/bin/loom-egress"
  try "$BATS_TEST_TMPDIR/bin/loom-broker" run --workspace "$W" --report "$R" --allow-host git.test -- touch ran
  is 125
  says policy_refused
  [ ! -e ran ]
  try "$BATS_TEST_TMPDIR/bin/loom-broker" run --workspace "$W" --report "$R" --narrowed proceed --allow-host git.test -- \
    sh -c 'echo "${https_proxy-none}"'
  is 0
  answers none
  report '.narrowings[0].granted == {mode: "off"}'
  try "$BATS_TEST_TMPDIR/bin/loom-broker" run --workspace "$W" --egress-config "$TREE/test/support/egress.json" -- touch ran
  is 125
  says --egress-config
}

@test "an egress configuration that is none is refused before anything starts" {
  echo '{"v":1}' >"$BATS_TEST_TMPDIR/egress.json"
  run_out --allow-host git.test -- touch ran
  is 125
  says --egress-config
  [ ! -e ran ]
}

@test "loom-exec alone leads to a proxy that the operator runs, by its socket" {
  start_world
  mkfifo "$BATS_TEST_TMPDIR/ready"
  "$BIN/loom-egress" proxy --socket "$LOOM_RUNTIME_DIR/p.sock" --config "$BATS_TEST_TMPDIR/egress.json" \
    --allow "git.test:$origin_port" --ready-fd 4 4>"$BATS_TEST_TMPDIR/ready" </dev/null 2>/dev/null 3>&- &
  peers+=($!)
  line_of "$BATS_TEST_TMPDIR/ready"
  "$BIN/loom-policy" default "$W" --fit 2>/dev/null |
    jq --arg s "$LOOM_RUNTIME_DIR/p.sock" '.network = {mode: "proxy", allow: ["git.test"], proxy: $s}' >"$BATS_TEST_TMPDIR/p.json"
  try "$BIN/loom-policy" explain "$BATS_TEST_TMPDIR/p.json"
  answers network.proxy
  chmod 666 "$LOOM_RUNTIME_DIR/p.sock"
  try "$BIN/loom-exec" run --policy "$BATS_TEST_TMPDIR/p.json" --report "$R" -- sh -c "$(fetch git.test)"
  is 0
  answers hello
  report '.enforcement | index("verified:egress-proxy")'
}

@test "a wider view shows of the broker's directory the one socket, and nothing of another's" {
  start_world
  # Not below /tmp, where the jail has a tree of its own.
  LOOM_RUNTIME_DIR=$(mktemp -d /var/tmp/loom-test.XXXXXX)
  echo theirs >"$LOOM_RUNTIME_DIR/another"
  run_out --grant readable_root=/ --allow-host git.test -- sh -c "cd '$LOOM_RUNTIME_DIR' && find . -mindepth 1 | sort"
  is 0
  [[ "$out" =~ ^\./jail-[0-9]+$'\n'\./jail-[0-9]+/proxy-1\.sock$ ]] || { tell; return 1; }
  "$BIN/loom-policy" default "$W" --fit 2>/dev/null | jq '.readable_roots += ["/"]' >"$BATS_TEST_TMPDIR/wide.json"
  export LOOM_SOCKET=$LOOM_RUNTIME_DIR/broker.sock
  mkfifo "$BATS_TEST_TMPDIR/ready"
  "$BIN/loom-broker" serve --base-policy "$BATS_TEST_TMPDIR/wide.json" --grants allow --ready-fd 4 \
    4>"$BATS_TEST_TMPDIR/ready" 2>"$BATS_TEST_TMPDIR/log" </dev/null 3>&- &
  broker=$!
  line_of "$BATS_TEST_TMPDIR/ready" >/dev/null
  try "$BIN/loom-broker" call --allow-host git.test -- sh -c "cd '$LOOM_RUNTIME_DIR' && find . -mindepth 1 | sort"
  is 0
  [[ "$out" =~ ^\./jail-[0-9]+$'\n'\./jail-[0-9]+/proxy-1\.sock$ ]] || { tell; return 1; }
  try "$BIN/loom-broker" call -- sh -c "cd '$LOOM_RUNTIME_DIR' && find . -mindepth 1"
  [ -z "$out" ] || { tell; return 1; }
  "$BIN/loom-broker" stop >/dev/null
  wait "$broker"
  broker=
  clean
  rm -r "$LOOM_RUNTIME_DIR"
}

# The capability endpoint: a request made, not a socket opened.
endpoint_config() {
  jq --arg dns "$dns" --arg origin "https://git.test:$origin_port" --arg root "$PKI/root.pem" '.policy.resolver = $dns |
    .policy.trust.roots = [$root] | .policy.secrets = {gh: {env: "GH_TOKEN", header: "authorization", prefix: "Bearer "}} |
    .policy.origins = [{origin: $origin, methods: ["GET"], path_prefixes: ["/text/"], headers: [], secrets: ["gh"]}] |
    .grants = ["tool:gh@git.test:GET"] | .credentials = ["gh"]' "$TREE/test/support/egress.json" >"$BATS_TEST_TMPDIR/egress.json"
}
ask_endpoint() {
  echo "curl -sS --max-time 20 --unix-socket \"\$LOOM_EGRESS_SOCKET\" -H \"X-Loom-Egress-Token: \$LOOM_EGRESS_TOKEN\"" \
    "-d '{\"url\":\"https://git.test:$origin_port/text/hello\",\"method\":\"GET\",\"credential\":\"gh\"}' http://loom/"
}

@test "a caller with a grant gets the endpoint's socket and a token of its own; the credential stays outside" {
  start_world
  endpoint_config
  export GH_TOKEN=never-in-the-jail
  run_out --caller tool -- sh -c "$(ask_endpoint); echo; env; cat /proc/1/environ /proc/2/environ 2>/dev/null; true"
  is 0
  answers '"status":200'
  answers hello
  [[ "$out" != *never-in-the-jail* ]] || { tell; return 1; }
  jq -e '.headers[] | select(.[0] == "Authorization" or .[0] == "authorization") | .[1] == "Bearer never-in-the-jail"' "$origin_log"
  # The network is off all the same.
  report '[.enforcement[] | select(startswith("egress-proxy"))] == []'
  clean
}

@test "without a grant there is no socket and no token, and a caller cannot name its own" {
  start_world
  endpoint_config
  run_out --caller stranger -- sh -c 'echo "${LOOM_EGRESS_SOCKET-none} ${LOOM_EGRESS_TOKEN-none}"; find / -name "*.sock" 2>/dev/null; true'
  is 0
  [ "$out" = "none none" ] || { tell; return 1; }
  run_out --env "LOOM_EGRESS_SOCKET=$BATS_TEST_TMPDIR/egress.json" -- touch ran
  is 125
  [ ! -e ran ]
  # Nor does another's token do, once its call has ended.
  start_broker
  "$BIN/loom-broker" call --caller tool -- sh -c 'echo "$LOOM_EGRESS_TOKEN"' >"$W/token"
  try "$BIN/loom-broker" call --caller tool -- sh -c "LOOM_EGRESS_TOKEN=$(cat "$W/token"); $(ask_endpoint)"
  is 0
  answers '"code":"token"'
}

# A client of the bridge in the jail, for what no real client does: ask(HOST) sends a CONNECT and reads what comes.
asker='import socket, sys
def ask(host, via=None):
  s = socket.socket(socket.AF_UNIX if via else socket.AF_INET)
  s.settimeout(20)
  s.connect(via or ("127.0.0.1", 3128))
  try:
    s.sendall(b"CONNECT %s HTTP/1.1\r\n\r\n" % host.encode())
    return s, s.recv(200)
  except (BrokenPipeError, ConnectionResetError):
    return s, b""
'

@test "a command cannot widen its way out by the configuration, nor unsay by the record: both are hidden in a workspace" {
  start_world
  cp "$PKI/root.pem" roots.pem
  jq '.record = "calls.jsonl" | .policy.trust.roots = ["roots.pem"]' "$BATS_TEST_TMPDIR/egress.json" >"$W/egress.json"
  cp "$W/egress.json" "$BATS_TEST_TMPDIR/before"
  try "$BIN/loom-broker" run --workspace "$W" --egress-config egress.json --report "$R" --allow-host "git.test:$origin_port" -- sh -c "
    for f in egress.json calls.jsonl; do cat \$f && echo read; echo x >>\$f && echo written; mv \$f aside && echo moved
      rm -f \$f && echo removed; done; echo x >>roots.pem && echo written; mv roots.pem aside && echo moved; $(fetch other.test); true" 3>&-
  is 0
  [ -z "$out" ] || { tell; return 1; }
  cmp egress.json "$BATS_TEST_TMPDIR/before"
  cmp roots.pem "$PKI/root.pem"
  says "egress: other.test:$origin_port refused: not_allowed"
  [ "$(jq -r 'select(.verdict == "refused").host' calls.jsonl)" = other.test ]
}

@test "who asks for much does not push one refusal out of sight" {
  start_world
  run_out --allow-host git.test -- /usr/bin/python3 -c "$asker
for i in range(64): ask('h%d.test:443' % i)
ask('evil.test:443')
ask('evil.test:443')"
  is 0
  [ "$(grep -c ' refused: not_allowed' <<<"$err")" = 64 ] || { tell; return 1; }
  says "loom-broker: egress: (others) refused: 2"
  report '.egress[64] == {destination: "(others)", reason: "2"}'
}

@test "the proxy's socket is the bridge's alone: a command that connects to it by its path is sent away" {
  start_world
  run_out --allow-host git.test -- /usr/bin/python3 -c "$asker
path = [l.split()[4] for l in open('/proc/self/mountinfo') if 'proxy-' in l][0]
print(ask('evil.test:443', path)[1], ask('evil.test:443')[1][:12])"
  is 0
  [ "$out" = "b'' b'HTTP/1.1 403'" ] || { tell; return 1; }
}

@test "two runs with one record file: neither is told what was refused to the other" {
  start_world
  jq '.record = "calls.jsonl"' "$BATS_TEST_TMPDIR/egress.json" >"$BATS_TEST_TMPDIR/e" && mv "$BATS_TEST_TMPDIR/e" "$BATS_TEST_TMPDIR/egress.json"
  mkfifo "$W/go" "$W/up"
  "$BIN/loom-broker" run --workspace "$W" --egress-config "$BATS_TEST_TMPDIR/egress.json" --allow-host git.test \
    -- sh -c 'echo up >up; read go <go' >/dev/null 2>"$BATS_TEST_TMPDIR/err" </dev/null 3>&- &
  local other=$!
  line_of up
  run_out --allow-host git.test -- sh -c 'curl -sS --max-time 20 https://evil.test'
  says "egress: evil.test:443 refused: not_allowed"
  echo go >go
  wait "$other"
  if grep evil.test "$BATS_TEST_TMPDIR/err"; then return 1; fi
}

@test "a jail that takes all the tunnels it can leaves some to another one, and its refusals fill no disk" {
  start_world
  start_broker
  mkfifo "$W/go" "$W/up"
  "$BIN/loom-broker" call --workspace "$W" --allow-host "git.test:$origin_port" -- /usr/bin/python3 -c "$asker
for i in range(400): ask('%s.test:443' % ('a' * 60)) [0].close()
held = [socket.create_connection(('127.0.0.1', 3128)) for i in range(256)]
for s in held: s.sendall(b'CONNECT git.test:$origin_port HTTP/1.1\r\n\r\n')
for s in held[:128]: assert s.recv(12) == b'HTTP/1.1 200'
open('up', 'w').write('up\n')
open('go').read()" >"$BATS_TEST_TMPDIR/out" 2>&1 </dev/null 3>&- &
  local call=$!
  line_of up || { cat "$BATS_TEST_TMPDIR/out" >&2; return 1; }
  try "$BIN/loom-broker" call --workspace "$W" --allow-host "git.test:$origin_port" -- sh -c "$(fetch git.test)"
  is 0
  answers hello
  # The records have been read, and given back, before the call that caused them has ended.
  local records end=$((SECONDS + 20))
  records=$(echo "$LOOM_RUNTIME_DIR"/jail-*/*.records)
  while [ "$(stat -c %b "$records")" -gt 16 ]; do [ $SECONDS -lt $end ] || { stat "$records" >&2; return 1; }; done
  [ "$(stat -c %s "$records")" -gt 100000 ]
  echo go >go
  wait "$call"
}
