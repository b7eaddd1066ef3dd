#!/usr/bin/env bash
# python.sh NAME... makes tests/.build/NAME, a Python with just the packages
# that its list names, hashes held; nothing if that is there. The lists are
# complete, but for that of agent 0.20, of which only the hook runner is used.
set -euo pipefail
cd "$(dirname "$0")/.."
uv=tests/.build/uv/bin/uv

# fresh LIST PLACE reports whether what the list says is in its place.
fresh() { cmp -s "$1" "$2/installed.txt"; }

if ! fresh tests/lib/uv.txt tests/.build/uv; then
  echo "installing uv"
  python3 -m venv --clear tests/.build/uv
  tests/.build/uv/bin/pip install -q --disable-pip-version-check --require-hashes -r tests/lib/uv.txt
  cp tests/lib/uv.txt tests/.build/uv/installed.txt
fi
for name in "$@"; do
  case $name in
    agent-*) list=tests/agent/requirements/${name#agent-}.txt ;;
    *) list=tests/$name/requirements.txt ;;
  esac
  place=tests/.build/$name
  fresh "$list" "$place" && continue
  echo "installing $name: $(grep -c == "$list") packages"
  "$uv" venv -q --no-config --python python3 --clear "$place"
  VIRTUAL_ENV=$place "$uv" pip install -q --no-config --no-deps --require-hashes -r "$list"
  cp "$list" "$place/installed.txt"
done
