#!/bin/sh
# Runs the long trials: every test that calls testnet.Long, folder by folder. It ends with 1 when one failed.
set -eu
cd "$(dirname "$0")/.."

# run runs a folder's trials.
run() {
  names=$(awk '/^func Test/ { name = substr($2, 1, index($2, "(") - 1) } /testnet\.Long\(/ { print name }' "$1"/*_test.go | sort -u | paste -sd '|')
  echo "$1: $names" | tr '|' ' '
  WARREN_LONG=1 go test -parallel 3 -timeout 60m -run "^($names)\$" "$1"
}

failed=0
run ./store & # beside the others, which have browsers
beside=$!
for folder in $(grep -rl 'testnet\.Long(' --include='*_test.go' . | xargs -n 1 dirname | sort -u); do
  [ "$folder" = ./store ] || run "$folder" || failed=1
done
wait $beside || failed=1
exit $failed
