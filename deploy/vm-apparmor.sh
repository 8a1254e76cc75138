# Runs in the machine of vm.sh with SUITE=trixie, under systemd, beside a binary `warren`: what deploy/apparmor-warren is for. Ubuntu's
# kernels have kernel.apparmor_restrict_unprivileged_userns, Debian's do not. Debian 13's kernel does ask AppArmor about user namespaces, so
# stand-ins restrict the program as Ubuntu does: 23.10 refuses the namespace, 24.04 gives one without capabilities. Each line says what
# held; the first that does not ends it.
set -eu
ok() { echo "ok   $*, $SECONDS s"; }
fail() { echo "FAIL $*"; journalctl -u warren --no-pager -o cat | tail -n 40; dmesg | grep -i apparmor | tail; exit 1; }
show() { systemctl show -p "$1" --value warren; }
api() { curl -sS -X "$1" "http://127.0.0.1:7777/api/v1$2" -H "Authorization: Bearer $key" -H 'Content-Type: application/json' "${@:3}"; }
label() { tr -d '\0' <"/proc/$(show MainPID)/attr/current"; }
# restrict puts every program of /usr/local/bin under the rules given, but for one that has a profile of its own.
restrict() {
  printf 'abi <abi/4.0>,\nprofile stand-in /usr/local/bin/* {\n%s\n}\n' "$1" >/tmp/stand-in
  apparmor_parser -r /tmp/stand-in || fail "the stand-in does not load"
}
# as_ubuntu runs a command that sees Ubuntu's switch, in a mount namespace of its own.
as_ubuntu() {
  unshare --mount sh -c 'boot=$(cat /proc/sys/kernel/random/boot_id); mount -t tmpfs -o mode=755 switch /proc/sys/kernel &&
    mkdir /proc/sys/kernel/random && echo "$boot" >/proc/sys/kernel/random/boot_id &&
    echo 1 >/proc/sys/kernel/apparmor_restrict_unprivileged_userns && exec "$@"' sh "$@"
}

grep -q userns_create /sys/kernel/security/apparmor/features/namespaces/mask || fail "this kernel does not ask AppArmor about user namespaces"
mkdir -p /etc/warren
echo 'start-timeout = "10m" # a processor in software' >/etc/warren/config.toml
install -m 755 warren /usr/local/bin/warren
apparmor_parser -R /etc/apparmor.d/chromium # Debian's, of its browser alone: other browsers have none
restrict 'file, network, unix, signal, ptrace, mqueue, dbus, mount, umount, pivot_root, capability,'
warren install-service >/tmp/said || fail "install-service: $(cat /tmp/said)"
[ "$(label)" = 'stand-in (enforce)' ] || fail "the server is not restricted: $(label)"
key=$(cat /var/lib/warren/admin.key)
profile=$(api POST /profiles -d '{"name":"Shop","os":"linux","workspaceId":"default"}' | jq -r .id)
refused() {
  api POST "/profiles/$profile/start" >/tmp/answer
  jq -e '.code == "browser_failed" and (.detail | contains("can make no sandbox"))' /tmp/answer >/dev/null || fail "$1: $(cat /tmp/answer)"
  [ "$(pgrep -u warren -c -f -- --user-data-dir || :)" = 0 ] || fail "$1: a browser is left"
  ok "$1, nothing starts: $(jq -r .detail /tmp/answer)"
  as_ubuntu runuser -u warren -- /usr/local/bin/warren doctor --data /var/lib/warren >/tmp/findings 2>&1 || :
  grep -q '^!!  sandbox' /tmp/findings && grep -q 'sudo warren install-service, which loads a profile' /tmp/findings || fail "doctor: $(cat /tmp/findings)"
  ok "doctor finds it: $(grep -m 1 install-service /tmp/findings | sed 's/^ *//')"
}
refused "without user namespaces, as Ubuntu 23.10"

restrict 'file, network, unix, signal, ptrace, mqueue, dbus, mount, umount, pivot_root, userns,'
systemctl restart warren
refused "with namespaces that have no capabilities, as Ubuntu 24.04"

as_ubuntu aa-exec -p unconfined -- warren install-service >/tmp/said || fail "install-service: $(cat /tmp/said)"
grep -q 'apparmor_parser -r /etc/apparmor.d/warren' /tmp/said && [ "$(label)" = 'warren (unconfined)' ] || fail "no profile: $(label), $(cat /tmp/said)"
run=$(api POST "/profiles/$profile/start")
echo "$run" | jq -e '.isolation.network == "namespace" and .isolation.files == "namespace"' >/dev/null || fail "start: $run"
browser=$(pgrep -u warren -o -f -- --user-data-dir)
[ "$(pgrep -u warren -c -f -- --no-sandbox || :)" = 0 ] || fail "the browser has no sandbox"
[ "$(tr -d '\0' <"/proc/$browser/attr/current")" = 'warren (unconfined)' ] || fail "the browser is not under the profile"
ok "with the profile a browser runs, isolated: $(echo "$run" | jq -c .isolation)"

warren uninstall-service >/tmp/said || fail "uninstall-service: $(cat /tmp/said)"
[ ! -e /etc/apparmor.d/warren ] && ! grep -q '^warren ' /sys/kernel/security/apparmor/profiles || fail "the profile stays"
ok "uninstalled: the profile is unloaded and gone"
