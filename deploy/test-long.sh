#!/bin/sh
# Runs the long trials: every test that calls testnet.Long, folder by folder. It ends with 1 when one failed.
set -eu
cd "$(dirname "$0")/.."

failed=0
for folder in $(grep -rl 'testnet\.Long(' --include='*_test.go' . | xargs -n 1 dirname | sort -u); do
  names=$(awk '/^func Test/ { name = substr($2, 1, index($2, "(") - 1) } /testnet\.Long\(/ { print name }' "$folder"/*_test.go | sort -u | paste -sd '|')
  echo "$folder: $names" | tr '|' ' '
  WARREN_LONG=1 go test -parallel 3 -timeout 60m -run "^($names)\$" "$folder" || failed=1
done
exit $failed
