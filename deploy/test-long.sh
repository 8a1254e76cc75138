#!/bin/sh
# Runs the long trials: every test that calls testnet.Long, folder by folder. It ends with 1 when one failed. RACED=1 leaves out those of the
# browser that make race has run just before (dist/raced-*.txt).
set -eu
cd "$(dirname "$0")/.."

# run runs a folder's trials.
run() {
  names=$(awk '/^func Test/ { name = substr($2, 1, index($2, "(") - 1) } /testnet\.Long\(/ { print name }' "$1"/*_test.go | sort -u |
    { grep -vxFf "$raced" || :; } | paste -sd '|')
  [ -n "$names" ] || return 0
  echo "$1: $names" | tr '|' ' '
  WARREN_LONG=1 go test -count=1 -parallel 4 -timeout 60m -run "^($names)\$" "$1"
}

raced=$(mktemp)
trap 'rm -f "$raced"' EXIT
[ -z "${RACED:-}" ] || cat dist/raced-*.txt >"$raced"

# The browser's and the store's trials run beside the others: the first wait more than they compute, the second need one processor. More
# at once would be too much: TestHundredSignIns needs a processor now and then.
failed=0
run ./browser &
browser=$!
run ./store &
store=$!
for folder in $(grep -rl 'testnet\.Long(' --include='*_test.go' . | xargs -n 1 dirname | sort -u); do
  case $folder in ./browser | ./store) ;; *) run "$folder" || failed=1 ;; esac
done
make --no-print-directory postgres || failed=1
wait $browser || failed=1
wait $store || failed=1
exit $failed
