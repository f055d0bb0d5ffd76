#!/bin/sh
# Installs what `make test` needs and the machine lacks: PostgreSQL's server programs (the tests
# start a throw-away server of their own), Prometheus and Alertmanager (likewise), openssl for a
# certificate, systemd's tools to look at the units, and the npm package with GitHub's payload
# examples, fetched and never committed.
set -eu
cd "$(dirname "$0")/.."

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

have_postgres() {
    command -v initdb >/dev/null || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1
}
need=""
have_postgres || need="$need postgresql"
command -v npm >/dev/null || need="$need nodejs npm"
command -v promtool >/dev/null || need="$need prometheus"
command -v prometheus-alertmanager >/dev/null || need="$need prometheus-alertmanager"
command -v systemd-analyze >/dev/null || need="$need systemd"
command -v openssl >/dev/null || need="$need openssl"
if [ -n "$need" ]; then
    echo "installing:$need"
    as_root apt-get update -qq
    # shellcheck disable=SC2086
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $need
fi

examples=target/npm/node_modules/@octokit
if [ ! -d "$examples/webhooks-examples" ] || [ ! -d "$examples/webhooks-methods" ]; then
    mkdir -p target/npm
    npm install --silent --no-audit --no-fund --prefix target/npm \
        @octokit/webhooks-examples@7.6.1 @octokit/webhooks-methods@6
fi
