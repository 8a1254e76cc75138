# Runs in the machine of vm.sh, under systemd, beside a binary `warren`: install-service, readiness, watchdog, a browser under the unit's
# hardening, limits of runs, SIGHUP, a server that is killed or hangs, a wrong configuration, a machine without user namespaces,
# uninstall-service, one person's service. Each line says what held; the first that does not ends it. Beside a file `quick` only what comes
# first is tried: the unit, and one browser.
set -eu
ok() { echo "ok   $*, $SECONDS s"; }
fail() { echo "FAIL $*"; journalctl -u warren --no-pager -o cat | tail -n 40; exit 1; }
# until_is waits for a command to say something. A machine in software, beside others, is slow: ten minutes at most.
until_is() {
  want=$1
  shift
  for _ in $(seq 1200); do
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
echo 'start-timeout = "10m" # a processor in software' >/etc/warren/config.toml
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
if [ -e quick ]; then
  systemctl stop warren
  [ "$(show Result)" = success ] && [ "$(pgrep -u warren -c . || :)" = 0 ] || fail "stop: $(show Result)"
  ok "stopped: $(show Result), nothing is left; the rest is make vm-test's"
  exit 0
fi

sed -e 's/^Type=.*/Type=oneshot/' -e 's|^ExecStart=.*|ExecStart=/usr/local/bin/warren doctor|' -e '/^Restart/d' -e '/^WatchdogSec/d' \
  /etc/systemd/system/warren.service >/run/systemd/system/examined.service
systemctl daemon-reload
systemctl start examined || fail "doctor"
journalctl -u examined --no-pager -o cat | grep '^\(ok\|!!\)' >/tmp/findings
! grep '^!!' /tmp/findings || fail "doctor finds a fault under the unit's hardening"
ok "doctor, under the unit's hardening: $(wc -l </tmp/findings) findings, all ok"

# A page that takes more memory than its run may have. Nothing else here serves one.
printf 'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n' >/tmp/greedy
echo '<script>const all = []; setInterval(() => all.push(new Uint8Array(16 << 20).fill(1)), 50)</script>' >>/tmp/greedy
echo 'while IFS= read -r line && [ ${#line} -gt 1 ]; do :; done; cat /tmp/greedy' >/tmp/answer-greedy
systemd-run --quiet --unit=greedy systemd-socket-activate --accept --inetd -l 127.0.0.1:8099 /bin/bash /tmp/answer-greedy
greedy=$(api POST /profiles -d '{"name":"Greedy","os":"linux","workspaceId":"default","allowLocal":["127.0.0.1:8099"],"limits":{"memoryMb":400}}' |
  jq -r .id)
run=$(api POST "/profiles/$greedy/start")
cdp=$(echo "$run" | jq -er .cdpUrl) || fail "start: $run"
counted() { api GET /runs | jq -c '[.data[].usage.memoryKind]'; }
until_is '["cgroup","cgroup"]' counted
ended() { api GET "/profiles/$greedy/runs" | jq -r '.data[0].reason'; }
# opened asks for the page until a browser in software has it, or is gone for it.
opened() { curl -s -m 300 -X PUT "$cdp/json/new?http://127.0.0.1:8099/" | grep -q '"id"' || [ "$(ended)" = out_of_memory ] && echo yes; }
until_is yes opened
until_is out_of_memory ended
[ "$(api GET "/profiles/$profile" | jq -r .status)" = running ] && [ "$(show NRestarts)" = 0 ] || fail "its neighbour or the server ended, too"
ok "out of memory alone: $(api GET "/profiles/$greedy/runs" | jq -c '.data[0] | {reason, memory, cpuMs}')"
systemctl stop greedy

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
journalctl -u warren --no-pager -o cat >/tmp/journal
grep -q 'code=killed, status=6/ABRT' /tmp/journal || fail "it was not ended by the watchdog's signal, or has dumped its memory"
! grep -e "$key" -e '#code=' /tmp/journal || fail "the journal of the crash has a key"
ok "a server that hangs is restarted by the watchdog; it dumped neither memory nor a key"

systemctl stop warren
cp /etc/warren/config.toml /tmp/right.toml
echo 'no-such-flag = 1' >>/etc/warren/config.toml
! systemctl start warren 2>/dev/null || fail "it starts with a wrong configuration"
[ "$(show ActiveState)/$(show ExecMainStatus)/$(show NRestarts)" = failed/2/0 ] || fail "a wrong configuration: $(show ActiveState), $(show NRestarts)"
cp /tmp/right.toml /etc/warren/config.toml
ok "with a wrong configuration it is not tried again: $(journalctl -u warren --no-pager -o cat | grep -m 1 no-such-flag)"

# Without user namespaces, as a hardened kernel has it: Chrome would have no sandbox. Nothing starts, and both say what to do.
sysctl -q user.max_user_namespaces=0
systemctl start warren
api POST "/profiles/$profile/start" >/tmp/answer
jq -e '.code == "browser_failed" and (.detail | contains("can make no sandbox"))' /tmp/answer >/dev/null || fail "without namespaces: $(cat /tmp/answer)"
systemctl start examined
journalctl -u examined --no-pager -o cat >/tmp/findings
grep -q '^!!  sandbox' /tmp/findings && grep -q 'sudo sysctl -w user.max_user_namespaces=' /tmp/findings || fail "doctor: $(cat /tmp/findings)"
ok "without user namespaces nothing starts, and it says why: $(jq -r .detail /tmp/answer)"
sysctl -q user.max_user_namespaces=7000

systemctl stop warren
[ "$(show Result)" = success ] && [ "$(pgrep -u warren -c . || :)" = 0 ] || fail "stop: $(show Result)"
ok "stopped: $(show Result), nothing is left"
warren uninstall-service || fail "uninstall-service"
[ ! -e /etc/systemd/system/warren.service ] && [ -e /var/lib/warren/warren.db ] || fail "the unit stays, or the data do not: $(ls /var/lib/warren)"
ok "uninstalled; the data stay"

useradd --create-home anna
loginctl enable-linger anna
until_is active systemctl is-active "user@$(id -u anna)"
as() { runuser -u anna -- env "XDG_RUNTIME_DIR=/run/user/$(id -u anna)" "$@"; }
as mkdir -p /home/anna/.config/warren
as cp /etc/warren/config.toml /home/anna/.config/warren/
as warren install-service --user || fail "install-service --user"
[ "$(as systemctl --user is-active warren)" = active ] || fail "one person's service is not active"
key=$(cat /home/anna/.local/share/warren/admin.key)
profile=$(api POST /profiles -d '{"name":"Shop","os":"linux","workspaceId":"default","limits":{"memoryMb":2000}}' | jq -r .id)
run=$(api POST "/profiles/$profile/start")
echo "$run" | jq -e '.isolation.network == "namespace" and .isolation.files == "namespace"' >/dev/null || fail "start: $run"
limit() { api GET /runs | jq -r '.data[0].usage.memoryLimitBytes'; }
until_is 2097152000 limit
ok "one person's service: $(api GET /server | jq -r '.findings[] | select(.name == "limits") | .detail')"
as warren uninstall-service --user || fail "uninstall-service --user"
[ "$(pgrep -u anna -c -x warren || :)" = 0 ] && [ -e /home/anna/.local/share/warren/warren.db ] || fail "something is left, or the data are not"
ok "uninstalled; the data stay"
[ -e /proc/sys/kernel/apparmor_restrict_unprivileged_userns ] || echo "not tried: this kernel ($(uname -r)) has no apparmor_restrict_unprivileged_userns"
