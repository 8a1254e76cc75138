# Runs in the machine of vm.sh, under systemd, beside old.deb and new.deb, two versions of the package: installed, started by systemd, upgraded
# with data, removed and purged. `make vm-packages` builds both. Each line says what held; the first that does not ends it.
set -eu
ok() { echo "ok   $*, $SECONDS s"; }
fail() { echo "FAIL $*"; systemctl status warren --no-pager -l || :; journalctl -u warren --no-pager -o cat | tail -n 40; exit 1; }
show() { systemctl show -p "$1" --value warren; }
api() { curl -sS -X "$1" "http://127.0.0.1:7777/api/v1$2" -H "Authorization: Bearer $(cat /var/lib/warren/admin.key)" -H 'Content-Type: application/json' "${@:3}"; }
# is_there fails unless the server is of a version and has the profile.
is_there() {
  [ "$(show ActiveState)/$(show User)" = active/warren ] || fail "not active: $(show ActiveState)"
  got=$(curl -sS http://127.0.0.1:7777/version | jq -r .version)
  [ "$got" = "$1" ] || fail "the server is $got, want $1"
  api GET "/profiles/$profile" | jq -e '.name == "Shop"' >/dev/null || fail "the profile is not there"
}

old=$(dpkg-deb -f old.deb Version) new=$(dpkg-deb -f new.deb Version)
dpkg -i old.deb || fail "the package does not install"
[ "$(show ActiveState)" = inactive ] && [ "$(systemctl is-enabled warren || :)" = disabled ] || fail "it was started, or will be"
[ "$(stat -c '%U %a' /var/lib/warren)" = "warren 700" ] || fail "/var/lib/warren: $(stat -c '%U %a' /var/lib/warren)"
warren config check /etc/warren/config.toml || fail "the configuration has a fault"
! warren install-service --dry-run | grep '^write' || fail "install-service would write beside the package"
[ -e /etc/apparmor.d/abi/4.0 ] || [ ! -e /etc/apparmor.d/warren ] || fail "a profile that this AppArmor refuses"
ok "installed $old: the user, the folders, the configuration; not started"

systemctl enable --now warren || fail "does not start"
profile=$(api POST /profiles -d '{"name":"Shop","os":"linux","workspaceId":"default"}' | jq -r .id)
is_there "${old%-1}"
ok "started by systemd: $(show StatusText)"

echo 'max-running = 7 # mine' >>/etc/warren/config.toml
pid=$(show MainPID)
dpkg -i new.deb </dev/null || fail "the package does not upgrade"
is_there "${new%-1}"
[ "$(show MainPID)" != "$pid" ] && [ "$(show NRestarts)" = 0 ] || fail "not restarted once: $(show NRestarts)"
grep -q '^max-running = 7 # mine' /etc/warren/config.toml || fail "the configuration was replaced"
[ "$(systemctl is-enabled warren)" = enabled ] || fail "no longer enabled"
ok "upgraded to $new: restarted, with data and configuration"

systemctl stop warren
dpkg -i new.deb || fail "the package does not install again"
[ "$(show ActiveState)" = inactive ] || fail "a stopped server was started"
systemctl start warren
is_there "${new%-1}"
ok "a stopped server stays stopped"

dpkg -r warren >/tmp/said || fail "the package cannot be removed"
grep -q 'data stay in /var/lib/warren' /tmp/said || fail "it does not say where the data are: $(cat /tmp/said)"
[ "$(pgrep -u warren -c . || :)" = 0 ] || fail "processes are left"
[ "$(systemctl is-enabled warren 2>/dev/null || :)" != enabled ] && [ ! -e /usr/bin/warren ] || fail "something is left"
[ -e /var/lib/warren/warren.db ] && [ -e /etc/warren/config.toml ] || fail "data or configuration are gone"
ok "removed: nothing runs, data and configuration stay"

dpkg -i new.deb || fail "the package does not install again"
systemctl enable --now warren || fail "does not start again"
is_there "${new%-1}"
ok "installed again: the data are there"

mkdir -p /etc/credstore
echo x >/etc/credstore/warren.api-key
dpkg -P warren >/tmp/said || fail "the package cannot be purged"
[ ! -e /var/lib/warren ] && [ ! -e /etc/warren ] || fail "left: $(ls -d /var/lib/warren /etc/warren)"
grep -q 'Removing /var/lib/warren' /tmp/said || fail "it does not say what it removes: $(cat /tmp/said)"
[ -e /etc/credstore/warren.api-key ] && id warren >/dev/null || fail "the key or the user is gone"
ok "purged: the data are gone, and it said so"
