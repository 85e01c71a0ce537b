# Real origins and a name server for .bats files; loaded after helpers. Nothing here is a test, nothing made here is kept.
#
#   make_pki DIR                    a root (DIR/root.pem), a second root nobody trusts (DIR/other.pem), and leaves of the first,
#                                   each DIR/NAME.pem with DIR/NAME.key: `leaf` for the names in PKI_NAMES below,
#                                   `expired`, `wrong` for elsewhere.invalid; `stranger` is a leaf of the second root
#   start_origin [ARG...]           test/peers/origin.py with these; sets $origin_port and $origin_pid. Its log: $origin_log
#   start_tls_origin [ARG...]       the same with the leaf of $PKI
#   start_dns NAME=ANSWER...        test/peers/dns_server.cc; sets $dns (ADDRESS:PORT) and $dns_pid. Its questions: $dns_log
#   make_git_origin DIR             DIR/repo.git, a bare repository with one commit: start_tls_origin --git DIR serves
#                                   https://NAME:PORT/repo.git
#   stop_peers                      in teardown: ends what this test started
#
# All of them end with the shell that started them. Call them plainly, never in a subshell or with `run`.

PKI_NAMES=DNS:a.test,DNS:b.test,DNS:api.test,DNS:git.test,DNS:other.test,DNS:registry.test,DNS:localhost,IP:127.0.0.1,IP:::1

make_pki() {
  local dir=$1
  mkdir -p "$dir"
  local root
  for root in root other; do
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=loom test $root" -days 2 \
      -keyout "$dir/$root.key" -out "$dir/$root.pem" 2>/dev/null
  done
  make_leaf "$dir" root leaf "$PKI_NAMES"
  make_leaf "$dir" root wrong DNS:elsewhere.invalid
  make_leaf "$dir" other stranger "$PKI_NAMES"
  make_leaf "$dir" root expired "$PKI_NAMES" 20200101000000Z 20200102000000Z
}

# make_leaf DIR ROOT NAME SAN [FROM TO]
make_leaf() {
  local dir=$1 root=$2 name=$3 san=$4 ca
  ca=$(mktemp -d "$dir/ca.XXXXXX")
  : >"$ca/index"
  printf '%s\n' "[ca]" "default_ca=d" "[d]" "database=$ca/index" "new_certs_dir=$ca" "rand_serial=yes" "policy=p" "[p]" \
    "commonName=supplied" "[e]" "subjectAltName=$san" "basicConstraints=CA:FALSE" "extendedKeyUsage=serverAuth" >"$ca/conf"
  openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$name" -keyout "$dir/$name.key" \
    -out "$ca/request" 2>/dev/null
  local dates=(-days 1)
  [ -z "${5:-}" ] || dates=(-startdate "$5" -enddate "$6")
  openssl ca -batch -config "$ca/conf" -extensions e -md sha256 "${dates[@]}" -cert "$dir/$root.pem" -keyfile "$dir/$root.key" \
    -in "$ca/request" -out "$dir/$name.pem" -notext 2>/dev/null
  rm -r "$ca"
}

peers=()
peer_number=0

# begin_peer NAME COMMAND...: starts it with --ready FIFO and waits for the line that it writes there: $peer_line, $peer_pid,
# $peer_base (the beginning of its files' names).
begin_peer() {
  local name=$1
  shift
  peer_number=$((peer_number + 1))
  peer_base=${BATS_TEST_TMPDIR:-$BATS_FILE_TMPDIR}/$name.$peer_number
  mkfifo "$peer_base.ready"
  "$@" --ready "$peer_base.ready" --log "$peer_base.log" </dev/null >/dev/null 2>"$peer_base.err" 3>&- &
  peer_pid=$!
  peers+=("$peer_pid")
  : >>"$peer_base.log"
  peer_line=$(line_of "$peer_base.ready") || { cat "$peer_base.err" >&2; return 1; }
}

# shellcheck disable=SC2034
start_origin() {
  begin_peer origin python3 "$TREE/test/peers/origin.py" "$@"
  origin_port=$peer_line origin_pid=$peer_pid origin_log=$peer_base.log
}

start_tls_origin() {
  start_origin --cert "$PKI/leaf.pem" --key "$PKI/leaf.key" "$@"
}

# shellcheck disable=SC2034
start_dns() {
  begin_peer dns "$BUILT/test/peers/dns_server" "$@"
  dns=$peer_line dns_pid=$peer_pid dns_log=$peer_base.log
}

make_git_origin() {
  local work
  work=$(mktemp -d "$BATS_TEST_TMPDIR/work.XXXXXX")
  make_repository "$work/repo"
  git clone -q --bare "$work/repo" "$1/repo.git"
  rm -rf "$work"
}

stop_peers() {
  [ "${#peers[@]}" = 0 ] || kill "${peers[@]}" 2>/dev/null || true
  peers=()
}
