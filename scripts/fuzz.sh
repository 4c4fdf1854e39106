#!/usr/bin/env bash
# Runs every fuzz target of the module, one after the other, for the given time each.
# usage: scripts/fuzz.sh TIME      for example 1m
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:?usage: scripts/fuzz.sh TIME}

count=0
while IFS=: read -r file name; do
	count=$((count + 1))
	echo "== $(dirname "$file") $name for $time"
	"${GO:-go}" test -run='^$' -fuzz="^$name\$" -fuzztime="$time" "./$(dirname "$file")" </dev/null
done < <(grep -rHoE --include='*_test.go' --exclude-dir=bench '^func Fuzz[A-Za-z0-9_]+' . | sed -E 's/^\.\///; s/:func /:/' | sort)

[ "$count" -gt 0 ] || { echo 'no fuzz targets found' >&2; exit 1; }
echo "$count fuzz targets, none failed"
