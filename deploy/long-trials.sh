#!/bin/sh
# Prints the long trials of a folder as a pattern for `go test -run`: every test that calls testnet.Long.
set -eu
names=$(awk '/^func Test/ { name = substr($2, 1, index($2, "(") - 1) } /testnet\.Long\(/ { print name }' "$1"/*_test.go | sort -u | paste -sd '|')
echo "^($names)\$"
