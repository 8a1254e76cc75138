#!/bin/sh
# Runs the program and tests of Windows under Wine, where Wine and a cross compiler are (wine, gcc-mingw-w64-x86-64): the server, the store,
# proxies, checks and the command line. There is no browser in it. docs/windows.md says what does not hold there, and whose fault it is.
set -eu
cd "$(dirname "$0")/.."
for tool in wine:wine x86_64-w64-mingw32-gcc:gcc-mingw-w64-x86-64; do
  command -v "${tool%%:*}" >/dev/null 2>&1 || { echo "wine: skipped, the package ${tool#*:} is not installed"; exit 0; }
done

memory=/dev/shm # nothing here is about the disk
[ -w $memory ] || memory=${TMPDIR:-/tmp}
folder=$(mktemp -d -p $memory)
export GOOS=windows GOARCH=amd64 CGO_ENABLED=0 WINEPREFIX="$folder/prefix" WINEDEBUG=-all
trap 'wineserver -k 2>/dev/null || true; rm -rf "$folder"' EXIT
trap 'exit 1' INT TERM # the trap above ends the server of Wine then too
wineserver() { if command -v wineserver >/dev/null 2>&1; then command wineserver "$@"; else /usr/lib/wine/wineserver64 "$@"; fi; }

# Wine before 10 does not know how files are deleted since Windows 10, and answers "not implemented". Go's library expects "not supported" there.
goroot=$(go env GOROOT)
at=$goroot/src/internal/syscall/windows/at_windows.go
sed 's|^\t\tSTATUS_INVALID_PARAMETER, // the operating|\t\tNTStatus(0xC0000002),\n&|' "$at" >"$folder/at_windows.go"
printf '{"Replace":{"%s":"%s"}}' "$at" "$folder/at_windows.go" >"$folder/overlay.json"

# One server of Wine for all that follows: without -p it ends with the last program, beside the next one that begins.
mkdir "$WINEPREFIX"
wineserver -p >/dev/null 2>&1
wine wineboot -i >/dev/null 2>&1
library=$folder/prefix/drive_c/windows/system32/bcryptprimitives.dll
[ -e "$library" ] || x86_64-w64-mingw32-gcc -shared -O2 -o "$library" deploy/wine/processprng.c -ladvapi32

. deploy/wine/again.sh

# tests runs a folder's tests but those named, which Wine or a coarse clock fails (docs/windows.md).
tests() {
  go test -overlay "$folder/overlay.json" -c -o "$folder/test.exe" "./$1"
  echo "wine: ./$1"
  again "$folder/log" built_tests "$1" "${2:-none}" || { cat "$folder/log"; exit 1; }
  tail -1 "$folder/log"
}

built_tests() { (cd "$1" && wine "$folder/test.exe" -test.short -test.timeout 15m -test.skip "^($2)\$"); }

go build -overlay "$folder/overlay.json" -o "$folder/warren.exe" .
env -u GOOS -u GOARCH deploy/wine/serve.sh "$folder"
for package in events problem identity state; do tests "$package"; done
tests proxy 'TestPlainSitesToTheLetter|TestProxyNamedLoopback|TestAnswers|TestDebugPortsAreOutOfReach|TestDirect|TestProxyNotThere|TestSilentNetwork|TestRebinding|TestReplyCodes|TestReplaceRoutesUnderLoad|TestFailoverWhenTheNextAnswers|TestRelayKeepsRules'
tests store 'TestLongStepIsTold|TestCopy'
