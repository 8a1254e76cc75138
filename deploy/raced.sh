#!/bin/sh
# Runs tests under the race detector, and writes the names of those that passed into dist/raced-NAME.txt. `make test` and `make test-long`
# need not run these again (RACED=1). What was skipped, or does less under -short, is not among them. Usage: raced.sh NAME ARGUMENTS of go test
set -eu
cd "$(dirname "$0")/.."
name=$1
shift
mkdir -p dist
rm -f "dist/raced-$name.txt"
failed=0
go test -race -v "$@" >"dist/raced-$name.log" 2>&1 || failed=$?
if [ $failed -ne 0 ]; then
  cat "dist/raced-$name.log"
  exit $failed
fi
grep '^ok' "dist/raced-$name.log"
again=$(mktemp)
trap 'rm -f "$again"' EXIT
# A name in two packages would be left out of both, and a test that asks testing.Short is smaller here than elsewhere.
find . -name '*_test.go' -exec awk '/^func Test/ { name = substr($2, 1, index($2, "(") - 1); print name }
  /testing\.Short\(\)/ { if (name != "") print name }' {} + | sort | uniq -d >"$again"
sed -n 's/^--- PASS: \(Test[^ ]*\) .*/\1/p' "dist/raced-$name.log" | sort | grep -vxFf "$again" >"dist/raced-$name.txt"
