# Runs in the machine of vm.sh, under systemd, beside a binary `warren`: install-service, readiness, watchdog, a browser under the unit's
# hardening, a server that is killed, SIGHUP, uninstall-service. Each line says what held; the first that does not ends it.
set -eu
ok() { echo "ok   $*"; }
fail() { echo "FAIL $*"; systemctl status warren --no-pager -l || :; journalctl -u warren --no-pager -o cat | tail -n 40; exit 1; }
# until_is waits for a command to say something, 120 s at most.
until_is() {
  want=$1
  shift
  for _ in $(seq 240); do
    got=$("$@" 2>/dev/null || :)
    [ "$got" != "$want" ] || return 0
    sleep 0.5
  done
  fail "$* says '$got', want '$want'"
}
show() { systemctl show -p "$1" --value warren; }
api() { curl -sS -X "$1" "http://127.0.0.1:7777/api/v1$2" -H "Authorization: Bearer $key" -H 'Content-Type: application/json' "${@:3}"; }

mkdir -p /etc/credstore /etc/warren
od -An -tx1 -N32 /dev/urandom | tr -d ' \n' >/etc/credstore/warren.secret-key
echo 'start-timeout = "5m" # a processor in software' >/etc/warren/config.toml
install -m 755 warren /usr/local/bin/warren
warren install-service --dry-run | grep -q '^    Type=notify' || fail "the dry run shows no unit"
[ ! -e /etc/systemd/system/warren.service ] || fail "the dry run wrote"
warren install-service || fail "install-service"
[ "$(show ActiveState)/$(show Type)/$(show User)" = active/notify/warren ] || fail "not active"
ok "started, and ready when systemctl came back: $(show StatusText)"
curl -sf http://127.0.0.1:7777/readyz >/dev/null || fail "does not answer"
[ ! -e /var/lib/warren/secret.key ] || fail "the key of the credential was not taken"
ok "sealed with the credential's key"
key=$(cat /var/lib/warren/admin.key)
! journalctl -u warren --no-pager | grep -e "$key" -e '#code=' || fail "the journal has a key"
ok "no key in the journal"

profile=$(api POST /profiles -d '{"name":"Shop","os":"linux","workspaceId":"default"}' | jq -r .id)
run=$(api POST "/profiles/$profile/start")
echo "$run" | jq -e '.isolation.network == "namespace" and .isolation.files == "namespace"' >/dev/null || fail "start: $run"
ok "a browser runs, isolated: $(echo "$run" | jq -c .isolation)"
browser=$(pgrep -u warren -f -- '--type=zygote' | head -n 1)
[ "$(readlink "/proc/$browser/ns/user")" != "$(readlink /proc/1/ns/user)" ] || fail "no sandbox"
ok "its sandbox is on: $(tr '\0' ' ' <"/proc/$(pgrep -u warren -o -f -- --user-data-dir)/cmdline" | grep -c -- --no-sandbox) --no-sandbox"
sed -e 's/^Type=.*/Type=oneshot/' -e 's|^ExecStart=.*|ExecStart=/usr/local/bin/warren doctor|' -e '/^Restart/d' -e '/^WatchdogSec/d' \
  /etc/systemd/system/warren.service >/run/systemd/system/examined.service
systemctl daemon-reload
systemctl start examined || fail "doctor"
journalctl -u examined --no-pager -o cat | grep '^\(ok\|!!\)' >/tmp/findings
! grep '^!!' /tmp/findings || fail "doctor finds a fault under the unit's hardening"
ok "doctor, under the unit's hardening: $(wc -l </tmp/findings) findings, all ok"

pid=$(show MainPID)
last=$(show WatchdogTimestampMonotonic)
systemctl reload warren
journalctl -u warren --no-pager -o cat | grep -q SIGHUP || until_is 1 sh -c "journalctl -u warren --no-pager -o cat | grep -c SIGHUP"
[ "$(show MainPID)" = "$pid" ] || fail "a reload ended it"
for _ in $(seq 80); do [ "$(show WatchdogTimestampMonotonic)" = "$last" ] || break; sleep 1; done
[ "$(show WatchdogTimestampMonotonic)" != "$last" ] || fail "the watchdog hears nothing"
ok "reloaded; the watchdog hears it"

kill -9 "$pid"
until_is 1 show NRestarts
until_is active show ActiveState
until_is failed sh -c "curl -s http://127.0.0.1:7777/api/v1/profiles/$profile -H 'Authorization: Bearer $key' | jq -r .status"
[ "$(pgrep -u warren -c -f -- --user-data-dir || :)" = 0 ] || fail "browsers are left"
api POST "/profiles/$profile/start" | jq -e .cdpUrl >/dev/null || fail "the profile does not start again"
ok "killed: systemd restarted it, the run is recorded as lost, the profile starts again"

systemctl kill -s STOP --kill-whom=main warren
until_is 2 show NRestarts
until_is active show ActiveState
ok "a server that hangs is restarted by the watchdog"

systemctl stop warren
[ "$(show Result)" = success ] && [ "$(pgrep -u warren -c . || :)" = 0 ] || fail "stop: $(show Result)"
ok "stopped: $(show Result), nothing is left"
warren uninstall-service || fail "uninstall-service"
[ ! -e /etc/systemd/system/warren.service ] && [ -e /var/lib/warren/warren.db ] || fail "the unit stays, or the data do not: $(ls /var/lib/warren)"
ok "uninstalled; the data stay"
[ -e /proc/sys/kernel/apparmor_restrict_unprivileged_userns ] || echo "not tried: this kernel ($(uname -r)) has no apparmor_restrict_unprivileged_userns"
