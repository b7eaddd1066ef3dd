#!/bin/sh
# Lays out the pinned and patched WebUI in a directory: checks that the source is, byte for byte, the one named in
# pin.env, then applies patches/*.patch in name order. Anything that does not match or apply fails the build.
#
#   build.sh OUT [SOURCE]
#
# SOURCE is a git repository (path or URL; default: the pin's) or a directory with the source in it.
# WEBUI_PIN names another directory with pin.env and patches/ (the tests use it).
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
pin=${WEBUI_PIN:-$here}
fail() { echo "build.sh: $*" >&2; exit 1; }

[ $# -ge 1 ] && [ $# -le 2 ] || fail "usage: build.sh OUT [SOURCE]"
repository='' commit='' digest='' version=''
. "$pin/pin.env"
[ "${#commit}" = 40 ] || fail "pin.env: commit is not a full hash"
out=$1
source=${2:-$repository}
[ ! -e "$out" ] || [ -z "$(ls -A -- "$out")" ] || fail "$out is not empty"
mkdir -p -- "$out"
out=$(CDPATH='' cd -- "$out" && pwd)
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT

if [ -f "$source/server.py" ] && [ ! -e "$source/.git" ]; then
	# What running it from there leaves behind is not source.
	(cd -- "$source" && tar -cf - --exclude=__pycache__ .) | tar -xf - -C "$out"
else
	git -C "$work" init -q
	git -C "$work" fetch -q --depth 1 -- "$source" "$commit" || fail "$source has no commit $commit"
	git -C "$work" archive "$commit" | tar -xf - -C "$out"
fi

# The digest is over names and contents, so that it does not depend on how an archive was packed.
[ -z "$(find "$out" ! -type f ! -type d)" ] || fail "the source has something else than files and directories"
found=sha256:$(cd -- "$out" && find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | cut -d' ' -f1)
[ "$found" = "$digest" ] || fail "content digest is $found, pinned is $digest"

for patch in "$pin"/patches/*.patch; do
	[ -e "$patch" ] || continue
	# Without the ceiling git would look for a repository above $out and then skip files outside of it.
	(cd -- "$out" && GIT_CEILING_DIRECTORIES=$(dirname -- "$out") git apply -- "$patch") ||
		fail "$(basename -- "$patch") does not apply to $version"
	echo "applied $(basename -- "$patch")"
done

# An archive carries no tag, and the WebUI without one calls itself unknown, which hux could not check.
echo "__version__ = '$version'" >"$out/api/_version.py"
echo "WebUI $version ($commit) in $out"
