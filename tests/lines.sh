#!/usr/bin/env bash
# Counts the lines of code by folder: what ships, without tests and their helpers,
# blank lines, comments and generated files.
set -euo pipefail
cd "$(dirname "$0")/.."
git ls-files '*.go' '*.js' '*.mjs' '*.css' '*.html' |
	grep -vE '(_test\.go|\.test\.mjs)$|^tests/|/(storetest|recordtest)/|^bridge/vendor/' |
	while read -r file; do
		grep -qE '^// Code generated ' "$file" || echo "$file"
	done |
	xargs awk '
		/^[ \t]*$/ || /^[ \t]*\/\// { next }
		/^[ \t]*\/\*/ { inside = 1 }
		inside { if (/\*\//) inside = 0; next }
		{ folder = FILENAME; sub("/[^/]*$", "", folder); lines[folder]++; all++ }
		END { for (f in lines) printf "%6d %s\n", lines[f], f; printf "%6d together\n", all }' |
	sort -rn
