# Sourced by the scripts of this folder: packages, build, messages. Works on Debian 12 and newer and on Ubuntu 24.04.

say() { if [ -t 2 ]; then printf '\033[1m==>\033[0m %s\n' "$*" >&2; else printf '==> %s\n' "$*" >&2; fi; }

fail() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

# Packages for the build, programs that the services start, and the engines. Names without versions.
packages=(
    libarchive-dev libcjose-dev libcrypt-dev libcurl4-openssl-dev libhiredis-dev libjavascriptcoregtk-4.1-dev libmicrohttpd-dev libpcre2-dev
    libpq-dev librdkafka-dev libsodium-dev libsqlite3-dev libssl-dev libuv1-dev libwslay-dev pkg-config zlib1g-dev
    libvips-tools nginx-light postgresql redis-server
    node-buffer node-events node-path-browserify node-readable-stream node-stream-browserify node-string-decoder
)
# What tests run against: a mail server, an issuer of ID tokens, an object store that checks signatures, and packages that functions
# require.
# shellcheck disable=SC2034  # used by Deploy/test
test_packages=(
    ceph-common ceph-mon ceph-osd libjs-cryptojs node-axios node-lodash node-moment node-uuid python3-aiosmtpd python3-cryptography
    python3-jwt python3-venv radosgw
)
# What the benchmarks compare with, besides nginx, redis-benchmark and pgbench, which come with the packages above.
# shellcheck disable=SC2034  # used by Deploy/bench
benchmark_packages=(wrk libbson-dev)
# The checker of Postgres functions, for the installed version of Postgres.
function_check_package() {
    local versions=(/usr/lib/postgresql/*/)
    echo "postgresql-$(basename "${versions[-1]}")-plpgsql-check"
}
# Some releases have only the other name.
java_package() { apt-cache show openjdk-17-jre-headless >/dev/null 2>&1 && echo openjdk-17-jre-headless || echo default-jre-headless; }

is_installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

# install_packages PACKAGE…: installs those that are missing.
install_packages() {
    command -v swift >/dev/null || fail "Swift 6.2 or newer is needed: https://www.swift.org/install/linux"
    command -v apt-get >/dev/null || fail "apt-get was not found; install the equivalents of: $*"
    local missing=() sudo=() log
    for package in "$@"; do is_installed "$package" || missing+=("$package"); done
    [ ${#missing[@]} -eq 0 ] && return 0
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || fail "these packages are missing; run as root: apt-get install --no-install-recommends ${missing[*]}"
        sudo=(sudo)
    fi
    say "Installing with apt-get: ${missing[*]}"
    log=$(mktemp)
    # One at a time: `apt-get update` doesn't wait for another one.
    if ! { flock 9 && "${sudo[@]}" apt-get update -qq &&
        "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
            -o DPkg::Lock::Timeout=300 "${missing[@]}"; } >"$log" 2>&1 9>"${TMPDIR:-/tmp}/partita-packages-$(id -u).lock"; then
        tail -20 "$log" >&2
        fail "apt-get failed (its last lines are above); by hand: apt-get install --no-install-recommends ${missing[*]}"
    fi
    rm -f "$log"
}

# Installs Java if KAFKA_HOME names an Apache Kafka, which needs it.
install_java() {
    [ -n "${KAFKA_HOME:-}" ] || return 0
    [ -f "$KAFKA_HOME/bin/kafka-server-start.sh" ] || fail "KAFKA_HOME=$KAFKA_HOME holds no Apache Kafka (bin/kafka-server-start.sh)"
    command -v java >/dev/null || install_packages "$(java_package)"
}

# The browser in which the example apps' pages are tested. Ubuntu has Chromium only as a snap.
install_browser() {
    [ -z "${PARTITA_BROWSER:-}" ] && ! is_installed chromium-headless-shell || return 0
    apt-cache show chromium-headless-shell >/dev/null 2>&1 ||
        fail "there is no package chromium-headless-shell here: set PARTITA_BROWSER to the path of a Chromium"
    install_packages chromium-headless-shell
}

# Postgres refuses to run as root, so the engines get an account of their own.
make_engine_account() {
    [ "$(id -u)" -eq 0 ] || return 0
    id partita >/dev/null 2>&1 && return 0
    say "Creating the account partita, which the engines run as"
    useradd --system --home-dir /var/lib/partita --shell /usr/sbin/nologin partita
}

# Installs mongomock, another implementation of MongoDB's query language, in a virtual environment for the comparison tests.
make_reference() {
    .build/reference/bin/python3 -c 'import mongomock, bson' 2>/dev/null && return 0
    say "Installing mongomock into .build/reference"
    python3 -m venv .build/reference || fail "python3 -m venv failed"
    .build/reference/bin/pip -q install mongomock==4.3.0 pymongo==4.20.0 || fail "pip could not install mongomock"
}

# build CONFIGURATION [ARGUMENT…]: shows progress on a terminal; otherwise prints only the problems of a build that failed.
build() {
    local configuration=$1 log
    shift
    say "Building ($configuration); the first time takes minutes"
    if [ -t 2 ]; then
        swift build -c "$configuration" --explicit-target-dependency-import-check error "$@" >&2 || fail "the build failed"
        return
    fi
    log=$(mktemp)
    if ! swift build -c "$configuration" --explicit-target-dependency-import-check error "$@" >"$log" 2>&1; then
        grep -E 'error:|warning:' "$log" | sort -u | head -40 >&2
        tail -5 "$log" >&2
        fail "the build failed; the whole log is in $log"
    fi
    rm -f "$log"
}
