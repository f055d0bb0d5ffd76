#!/bin/sh
# The long form of tests/it/inbox.rs: `kill -9` every few seconds while events come in and a slow
# application answers, sometimes with 500. At the end every GUID was handed over at least once,
# always with the same key, and nothing is stuck.
#
#   tests/drills/kill-loop.sh [EVENTS] [SECONDS BETWEEN KILLS]
#
# Needs a built program (target/release or target/debug), python3 and openssl. Takes some minutes.
set -eu
cd "$(dirname "$0")/../.."
EVENTS=${1:-5000}
PAUSE=${2:-4}
PROGRAM=target/release/redeliverd
[ -x "$PROGRAM" ] || PROGRAM=target/debug/redeliverd
PROGRAM=$(pwd)/$PROGRAM
DRILL=$(pwd)/tests/drills/kill_loop.py
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
openssl genrsa -traditional -out "$WORK/app.pem" 2048 2>/dev/null ||
    openssl genrsa -out "$WORK/app.pem" 2048 2>/dev/null
chmod 600 "$WORK/app.pem"
exec python3 "$DRILL" "$PROGRAM" "$WORK" "$EVENTS" "$PAUSE"
