#!/usr/bin/env bash
# Installs what the tests need and this machine lacks, where it can, and else
# says what is missing and exits with 1.
set -euo pipefail
cd "$(dirname "$0")/.."

missing=()
apt=()
need() { # need COMMAND PACKAGE PURPOSE
  command -v "$1" >/dev/null 2>&1 && return
  apt+=("$2")
  missing+=("$1 ($3)")
}

command -v go >/dev/null 2>&1 || { echo "missing: Go 1.26 or newer, from https://go.dev/dl/"; exit 1; }
need gcc gcc "the race detector"
need node nodejs "the browser tests"
need npm npm "the browser tests"
[ -n "${HUX_CHROMIUM:-}" ] || need chromium chromium "the browser tests"
need java openjdk-17-jre-headless "Keycloak"
need mvn maven "fetching Keycloak"
need unzip unzip "unpacking Keycloak"
need python3 python3 "schemathesis"
python3 -c 'import ensurepip' 2>/dev/null || { apt+=(python3-venv); missing+=("python3-venv (schemathesis)"); }

if [ ${#apt[@]} -gt 0 ]; then
  if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
    echo "installing: ${apt[*]}"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq && apt-get install -y -qq --no-install-recommends "${apt[@]}" >/dev/null
  else
    printf 'missing: %s\n' "${missing[@]}"
    echo "On Debian, as root: apt-get install ${apt[*]}"
    exit 1
  fi
fi
go mod download

tests/python.sh schemathesis agent-0.19 agent-0.20 agent-0.22
