#!/bin/sh
# Runs the browser's tests under the race detector, and writes the names of those that passed into dist/raced.txt. `make test` and
# `make test-long` need not run these again (RACED=1). What was skipped, or does less under -short, is not among them. Arguments are go test's.
set -eu
cd "$(dirname "$0")/.."
mkdir -p dist
rm -f dist/raced.txt
failed=0
WARREN_LONG=1 go test -race -short -v -p 1 "$@" ./browser/... >dist/raced.log 2>&1 || failed=$?
if [ $failed -ne 0 ]; then
  cat dist/raced.log
  exit $failed
fi
grep '^ok' dist/raced.log
names=$(mktemp)
trap 'rm -f "$names"' EXIT
# A name in two packages would be left out of both, and a test that asks testing.Short is smaller here than elsewhere.
find . -name '*_test.go' -exec awk '/^func Test/ { name = substr($2, 1, index($2, "(") - 1); print name }
  /testing\.Short\(\)/ { if (name != "") print name }' {} + | sort | uniq -d >"$names"
sed -n 's/^--- PASS: \(Test[^ ]*\) .*/\1/p' dist/raced.log | sort | grep -vxFf "$names" >dist/raced.txt
