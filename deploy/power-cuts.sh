#!/bin/sh
# Cuts a virtual machine off while Warren works on it, CUTS times (50): docs/snapshots.md, "Power cuts and failing disks". It installs what it
# needs as root and with apt alone; anywhere else it says what is missing. The kernel is only unpacked, into a folder of the cache, and not
# installed. WARREN_MACHINE_KERNEL names another folder, with boot/vmlinuz-* and lib/modules.
set -eu
cd "$(dirname "$0")/.."
PATH=$PATH:/usr/sbin:/sbin

missing=
for tool in qemu-system-x86_64:qemu-system-x86 mkfs.ext4:e2fsprogs; do
  command -v "${tool%%:*}" >/dev/null 2>&1 || missing="$missing ${tool#*:}"
done
if [ -n "$missing" ]; then
  if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "Install first:$missing" >&2
    exit 1
  fi
  apt-get update
  # shellcheck disable=SC2086 # one word per package
  DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing
fi

folder=${WARREN_MACHINE_KERNEL:-${XDG_CACHE_HOME:-$HOME/.cache}/warren-machine}
if ! ls "$folder"/boot/vmlinuz-* >/dev/null 2>&1; then
  if ! command -v apt-get >/dev/null 2>&1 || ! command -v dpkg >/dev/null 2>&1; then
    echo "Unpack a kernel of amd64 with its modules into $folder, such as Debian's package linux-image-cloud-amd64." >&2
    exit 1
  fi
  mkdir -p "$folder/package"
  package=$(apt-cache depends linux-image-cloud-amd64 | awk '/Depends:/ { print $2; exit }')
  (cd "$folder/package" && apt-get download "$package")
  dpkg -x "$folder"/package/*.deb "$folder"
  rm -r "$folder/package"
fi

WARREN_MACHINE_KERNEL=$folder WARREN_MACHINE_CUTS=${CUTS:-50} exec go test -count=1 -v -timeout 0 -run '^TestMachineCuts$' ./tests
