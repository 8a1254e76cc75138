#!/bin/sh
# Boots a whole Debian machine in software, with its own kernel, cgroup v2, systemd, AppArmor and Chromium, and runs a script in it as root.
#
#   deploy/vm.sh SCRIPT [FILE...]
#
# The FILEs, folders too, lie beside the script in /in, which is where it runs. What it writes is written here, and vm.sh ends with its exit
# code. Nothing that happens in the machine stays. There is no network but loopback.
#
#   SYSTEMD=1     boots systemd, which runs the script from a unit; else the script runs alone, with /proc, /sys and cgroup v2 mounted
#   MEMORY=2048   MiB of memory      CPUS=2        processors
#   LIMIT=600     seconds            APPEND=...    further words for the kernel
#   CACHED=1      makes no root file system and installs nothing: it ends with 77 where there is none
#   SUITE=trixie  a machine of another release of Debian, which has a root file system of its own; bookworm if not given
#   CONSOLE=FILE  keeps what the kernel and systemd write; else that is shown only if the machine ends without an exit code
#
# The root file system is made once, in two or three minutes, and kept in ${XDG_CACHE_HOME:-~/.cache}/warren-vm. A boot then takes 25 s. It needs
# root, apt and the packages qemu-system-x86, mmdebstrap and e2fsprogs, which it installs. Where it cannot have them it says so and ends
# with 77. No processor has to help (KVM), so that it runs in a container too. It ends with 70 if the machine died or took too long.
set -eu
PATH=$PATH:/usr/sbin:/sbin

[ $# -gt 0 ] || { echo "usage: deploy/vm.sh SCRIPT [FILE...]" >&2; exit 2; }
suite=${SUITE:-bookworm}
packages=systemd,systemd-sysv,udev,dbus,dbus-user-session,libpam-systemd,iproute2,kmod,procps,ca-certificates,apparmor,curl,jq
packages=$packages,linux-image-cloud-amd64,chromium,fonts-dejavu-core
layout=1 # to be raised when what furnish writes changes

skip() { echo "vm.sh: skipped: $*" >&2; exit 77; }

# have installs the tools that are missing, where it may.
have() {
  missing=
  for tool in qemu-system-x86_64:qemu-system-x86 mmdebstrap:mmdebstrap mkfs.ext4:e2fsprogs; do
    command -v "${tool%%:*}" >/dev/null 2>&1 || missing="$missing ${tool#*:}"
  done
  [ -n "$missing" ] || return 0
  [ -z "${CACHED:-}" ] || skip "for want of:$missing"
  command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" -eq 0 ] || skip "for want of:$missing"
  # shellcheck disable=SC2086 # one word per package
  { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing; } >"$cache/apt.log" 2>&1 ||
    skip "apt-get could not install:$missing ($cache/apt.log)"
}

# furnish puts into the root file system what runs the script: alone, as the first process, or from a unit of systemd.
furnish() {
  mkdir -p "$1/in" "$1/usr/lib/vm"
  cat >"$1/usr/lib/vm/run" <<'END'
#!/bin/bash
# The disk with the script is a tar. Serial lines carry what the script writes and its exit code.
stty -F /dev/ttyS1 raw -echo; stty -F /dev/ttyS2 raw -echo
tar -xf /dev/vdb -C /in
cd /in && bash ./.script </dev/null >/dev/ttyS1 2>&1
echo $? >/dev/ttyS2
sync
END
  cat >"$1/usr/lib/vm/init" <<'END'
#!/bin/bash
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
mountpoint -q /proc || mount -t proc proc /proc
mountpoint -q /sys || mount -t sysfs sys /sys
mountpoint -q /dev || mount -t devtmpfs dev /dev
mkdir -p /dev/shm /dev/pts && mount -t tmpfs shm /dev/shm; mount -t devpts pts /dev/pts
mount -t tmpfs tmpfs /tmp; mount -t tmpfs run /run
mount -t securityfs security /sys/kernel/security
mount -t cgroup2 cgroup /sys/fs/cgroup
ip link set lo up
/usr/lib/vm/run
echo o >/proc/sysrq-trigger
sleep infinity
END
  chmod +x "$1/usr/lib/vm/run" "$1/usr/lib/vm/init"
  cat >"$1/etc/systemd/system/vm.target" <<'END'
[Unit]
Requires=multi-user.target
Wants=vm.service
AllowIsolate=yes
END
  cat >"$1/etc/systemd/system/vm.service" <<'END'
[Unit]
After=multi-user.target
FailureAction=poweroff-immediate
SuccessAction=poweroff-immediate
[Service]
Type=oneshot
ExecStart=/usr/lib/vm/run
Environment=HOME=/root
END
  # Nobody waits for a network, a login or an update here.
  for unit in systemd-networkd-wait-online.service apt-daily.timer apt-daily-upgrade.timer e2scrub_all.timer systemd-timesyncd.service \
    getty@tty1.service serial-getty@ttyS0.service; do
    ln -sf /dev/null "$1/etc/systemd/system/$unit"
  done
  echo warren-vm >"$1/etc/hostname"
  printf '127.0.0.1 localhost warren-vm\n::1 localhost\n' >"$1/etc/hosts"
}

# build makes the folder $base: disk, kernel, initrd.
build() {
  [ -z "${CACHED:-}" ] || skip "no root file system was made yet (make vm-test makes it)"
  [ "$(id -u)" -eq 0 ] || skip "only root can make the root file system"
  new=$base.new
  rm -rf "$new"
  mkdir -p "$new"
  sed "/^Suites:/s/bookworm/$suite/g" /etc/apt/sources.list.d/debian.sources >"$new/debian.sources"
  mmdebstrap --mode=root --variant=minbase --aptopt='Acquire::Check-Valid-Until "false"' --dpkgopt=path-exclude=/usr/share/doc/* \
    --include=$packages $suite "$new/tree" "$new/debian.sources" >"$cache/mmdebstrap.log" 2>&1 ||
    skip "the root file system could not be made ($cache/mmdebstrap.log)"
  furnish "$new/tree"
  cp -L "$new/tree/vmlinuz" "$new/kernel"
  cp -L "$new/tree/initrd.img" "$new/initrd"
  truncate -s 8G "$new/disk"
  mkfs.ext4 -q -F -d "$new/tree" "$new/disk"
  rm -rf "$new/tree"
  mv "$new" "$base"
}

cache=${XDG_CACHE_HOME:-$HOME/.cache}/warren-vm
mkdir -p "$cache"
have
base=$cache/$suite-$(echo "$packages $layout" | cksum | cut -d ' ' -f 1)
if [ ! -d "$base" ]; then
  exec 9>"$cache/lock"
  flock 9 # several may want it at once
  [ -d "$base" ] || build
  exec 9>&-
fi

work=$(mktemp -d)
machine=
end() { [ -z "$machine" ] || kill "$machine" 2>/dev/null || :; rm -rf "$work"; }
trap end EXIT
trap 'exit 1' INT TERM
mkdir "$work/in"
cp -R "$@" "$work/in/"
ln -s "$(basename "$1")" "$work/in/.script"
tar -cf "$work/in.tar" -C "$work/in" .
truncate -s %4096 "$work/in.tar" # a disk has whole sectors
init=/usr/lib/vm/init
[ -z "${SYSTEMD:-}" ] || init="/sbin/init systemd.unit=vm.target"
console=${CONSOLE:-$work/console}
: >"$work/exit"
timeout "${LIMIT:-600}" qemu-system-x86_64 -accel "${ACCEL:-tcg,thread=multi}" -cpu max -m "${MEMORY:-2048}" -smp "${CPUS:-2}" -display none \
  -no-reboot -nic none -monitor none -kernel "$base/kernel" -initrd "$base/initrd" \
  -append "root=/dev/vda rw console=ttyS0 quiet panic=-1 ${APPEND:-} init=$init" \
  -drive "file=$base/disk,if=virtio,format=raw,snapshot=on,cache=unsafe" -drive "file=$work/in.tar,if=virtio,format=raw,readonly=on" \
  -device virtio-rng-pci -serial "file:$console" -serial stdio -serial "file:$work/exit" </dev/null &
machine=$!
how=0
wait $machine || how=$?
machine=
code=$(cat "$work/exit")
case $code in
'' | *[!0-9]*) ;;
*) exit "$code" ;;
esac
tail -n 40 "$console" >&2
echo "vm.sh: the machine ended without the script's exit code (qemu: $how; 124 is the time of LIMIT=${LIMIT:-600} s)" >&2
exit 70
