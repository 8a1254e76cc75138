#!/usr/bin/env bash
# Tries the image of deploy/image.sh without Docker: umoci unpacks it, runc runs it as the image says and as Docker would run it, behind a
# network of its own, with deploy/seccomp.json. Each line says what held; the first that does not ends it.
#
#   deploy/image-trial.sh IMAGE.oci.tar
#
# It needs root, runc, umoci, microsocks, iproute2, curl and jq, and installs what is missing where apt is. Else it says so and ends with 77.
set -eu
cd "$(dirname "$0")/.."
PATH=$PATH:/usr/sbin:/sbin
[ $# -eq 1 ] || { echo "usage: deploy/image-trial.sh IMAGE.oci.tar" >&2; exit 2; }
skip() { echo "image-trial.sh: skipped: $*" >&2; exit 77; }
[ "$(id -u)" -eq 0 ] || skip "only root makes containers and their networks"
missing=
for tool in runc:runc umoci:umoci microsocks:microsocks ip:iproute2 curl:curl jq:jq; do
  command -v "${tool%%:*}" >/dev/null 2>&1 || missing="$missing ${tool#*:}"
done
if [ -n "$missing" ]; then
  command -v apt-get >/dev/null 2>&1 || skip "for want of:$missing"
  # shellcheck disable=SC2086 # one word per package
  { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing; } >/dev/null 2>&1 ||
    skip "apt-get could not install:$missing"
fi

work=$(mktemp -d)
name=warren-trial-$$
here=10.231.77.1 there=10.231.77.2 # of the network of the container
own=()                             # processes of this script
running=
end() {
  [ -z "$running" ] || { runc kill $name KILL || :; wait "$running" || :; runc delete -f $name || :; } >/dev/null 2>&1
  [ ${#own[@]} -eq 0 ] || kill "${own[@]}" 2>/dev/null || :
  ip netns del $name 2>/dev/null || :
  rm -rf "$work"
}
trap end EXIT
trap 'exit 1' INT TERM
ok() { echo "ok   $*"; }
fail() { echo "FAIL $*"; tail -n 40 "$work/log" 2>/dev/null || :; exit 1; }
# until_is waits for a command to say something, two minutes at most.
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

# The image, as another program reads it.
mkdir "$work/layout" "$work/data"
tar -xf "$1" -C "$work/layout"
tag=$(jq -r '.manifests[0].annotations["org.opencontainers.image.ref.name"]' "$work/layout/index.json")
umoci unpack --image "$work/layout:$tag" "$work/bundle" >"$work/log" 2>&1 || fail "umoci does not read the image"
blob() { echo "$work/layout/blobs/${1/://}"; }
manifest=$(blob "$(jq -r '.manifests[0].digest' "$work/layout/index.json")")
image=$(blob "$(jq -r .config.digest "$manifest")")
diff <(jq -c '[.[0].Config, .[0].Layers[]]' "$work/layout/manifest.json") \
  <(jq -c '[.config.digest, .layers[].digest] | map("blobs/" + sub(":"; "/"))' "$manifest") || fail "Docker's manifest names other files"
[ "$(jq -r .config.User "$image")" = 10001:10001 ] && [ "$(stat -c '%u %a' "$work/bundle/rootfs/data")" = "10001 700" ] || fail "it runs as root"
for package in chromium tini ca-certificates; do
  [ -e "$work/bundle/rootfs/usr/share/doc/$package/copyright" ] || fail "the licence of $package is missing"
done
ok "umoci unpacks warren:$tag: $(jq -r '.config.Labels["org.opencontainers.image.revision"]' "$image"), $(du -sh "$work/bundle/rootfs" | cut -f 1)"

# The network, with a proxy that wants a password and a site beyond it: another Warren, whose /ip tells the caller's address.
ip netns add $name || skip "this kernel makes no network namespaces"
ip link add w$$ type veth peer name eth0 netns $name
ip addr add $here/24 dev w$$ && ip link set w$$ up
ip -n $name addr add $there/24 dev eth0
ip -n $name link set eth0 up && ip -n $name link set lo up
ip -n $name route add default via $here
microsocks -i $here -p 1080 -u alice -P 'pass word' >"$work/socks" 2>&1 &
own+=($!)
WARREN_API_KEY=$(head -c 32 /dev/urandom | base64) "$work/bundle/rootfs/usr/bin/warren" serve --data "$work/site" --listen $here:8088 \
  --behind-proxy $here --allow-host $here >"$work/site.log" 2>&1 &
own+=($!)
until_is 200 curl -s -o /dev/null -w '%{http_code}' http://$here:8088/healthz

# prepare writes the bundle's configuration: as umoci makes it of the image, with what Docker has by itself, and what docs/operations.md asks
# for. $1 is a filter of jq for more, the rest the environment.
prepare() {
  local more=$1
  shift
  [ -e "$work/config" ] || cp "$work/bundle/config.json" "$work/config"
  jq --slurpfile seccomp "$work/bundle/rootfs/usr/share/warren/seccomp.json" --arg data "$work/data" --arg netns /run/netns/$name \
    --argjson files "$(ulimit -Hn)" '
    .process.terminal = false | .process.noNewPrivileges = true | .hostname = "warren" |
    .process.env += $ARGS.positional |
    .process.capabilities = {bounding: [], effective: [], inheritable: [], permitted: [], ambient: []} |
    .process.rlimits = [{type: "RLIMIT_NOFILE", soft: $files, hard: $files}] |
    .linux.namespaces = [{type: "pid"}, {type: "ipc"}, {type: "uts"}, {type: "mount"}, {type: "network", path: $netns}] |
    .linux.seccomp = ($seccomp[0] | del(.comment)) | .linux.resources = {} |
    .linux.maskedPaths = ["/proc/asound", "/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list",
      "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi", "/sys/firmware"] |
    .linux.readonlyPaths = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"] |
    .mounts |= map(select(.destination as $d | ["/data", "/etc/resolv.conf"] | index($d) | not)) |
    (.mounts[] | select(.destination == "/dev/shm").options) |= map(if startswith("size=") then "size=1g" else . end) |
    .mounts += [{destination: "/data", type: "bind", source: $data, options: ["rbind", "rw", "nosuid", "nodev"]}] |
    '"$more" --args "$@" <"$work/config" >"$work/bundle/config.json"
}
chown 10001:10001 "$work/data"
chmod 700 "$work/data"
key=$(head -c 32 /dev/urandom | base64)
settings=("WARREN_API_KEY=$key" "WARREN_BEHIND_PROXY=$here" "WARREN_ALLOW_HOST=$there" WARREN_ALLOW_PRIVATE=yes "WARREN_CHECK_URL=http://$here:8088/ip")
# start runs the container in the background and waits until its health check, as the image has it, is content.
start() {
  runc run --bundle "$work/bundle" $name >>"$work/log" 2>&1 </dev/null &
  running=$!
  until_is healthy healthy
}
healthy() { kill -0 "$running" 2>/dev/null && runc exec $name "${check[@]}" >/dev/null 2>&1 && echo healthy; }
mapfile -t check < <(jq -r '.config.Healthcheck.Test[1:][]' "$image")
# stop ends the container as `docker stop` does.
stop() {
  runc kill $name "$(jq -r .config.StopSignal "$image")"
  how=0
  wait "$running" || how=$?
  running=
  [ "$how" = 0 ] || fail "stopped with exit code $how"
  [ -z "$(pgrep -u 10001 || :)" ] || fail "processes are left: $(pgrep -u 10001 -a)"
}
api() { curl -sS -m 600 -X "$1" "http://$there:7777/api/v1$2" -H "Authorization: Bearer $key" -H 'Content-Type: application/json' "${@:3}"; }

prepare .
how=0
runc run --bundle "$work/bundle" $name >"$work/log" 2>&1 </dev/null || how=$?
[ $how = 3 ] && grep -q 'no API key yet' "$work/log" || fail "as it is, without a key, it ends with $how"
ok "without a key it refuses to listen: $(grep -o 'refused: .*' "$work/log" | cut -c -100)…"

prepare . "${settings[@]}"
start
curl -sf http://$there:7777/readyz >/dev/null || fail "does not answer from outside"
[ "$(api GET /server | jq -r '.findings[] | select(.ok | not) | .name + ": " + .detail' | grep -v '^limits' | tee "$work/findings")" = "" ] ||
  fail "doctor finds: $(cat "$work/findings")"
ok "serves, and its health check is content: $(curl -s http://$there:7777/version | jq -c .)"

proxy=$(api POST /proxies -d '{"workspaceId":"default","type":"socks5","host":"'$here'","port":1080,"username":"alice","password":"pass word"}' | jq -r .id)
api POST "/proxies/$proxy/check" >"$work/answer"
[ "$(jq -r .status "$work/answer")" = alive ] || fail "the proxy: $(cat "$work/answer")"
profile=$(api POST /profiles -d '{"name":"Shop","os":"linux","workspaceId":"default","proxyId":"'"$proxy"'"}' | jq -r .id)
# begin starts the profile and opens a page of the site in it.
begin() {
  api POST "/profiles/$profile/start" >"$work/answer"
  cdp=$(jq -er .cdpUrl "$work/answer") || fail "start: $(cat "$work/answer")"
  curl -sS -X PUT "$cdp/json/new?http://$here:8088/version" >"$work/page"
}
connections() { grep -c "connected to $here:8088" "$work/socks"; }
before=$(connections) # of the check
begin
[ "$(jq -c '[.isolation.network, .isolation.files, .isolation.sandbox]' "$work/answer")" = '["namespace","namespace",true]' ] ||
  fail "isolation: $(cat "$work/answer")"
renderer=$(pgrep -u 10001 -f -- --type=renderer | head -n 1)
[ "$(sed -n 's/^Seccomp:\t//p' "/proc/$renderer/status")" = 2 ] && [ "$(readlink "/proc/$renderer/ns/user")" != "$(readlink /proc/1/ns/user)" ] ||
  fail "no sandbox"
more() { [ "$(connections)" -gt "$before" ] && echo more; }
until_is more more
ok "a browser runs as $(ps -o uid= -p "$renderer" | tr -d ' '), isolated, and goes through the proxy with its password: $(jq -c .isolation "$work/answer")"
! grep -q 'pass word' "$work/log" && ! grep -qF "$key" "$work/log" || fail "a secret is in the log"

stop
ok "stopped as docker stop does: nothing is left"
start
[ "$(api GET "/profiles/$profile" | jq -r .name)" = Shop ] || fail "the profile is gone"
begin
stop
ok "started again with the same volume: profile, proxy and password are there"

# Docker's own filter forbids user namespaces (github.com/moby/profiles, seccomp/default.json): clone with CLONE_NEW… and unshare.
prepare '.linux.seccomp.syscalls += [{names: ["unshare", "mount", "setns"], action: "SCMP_ACT_ERRNO", errnoRet: 1},
  {names: ["clone3"], action: "SCMP_ACT_ERRNO", errnoRet: 38}, {names: ["clone"], action: "SCMP_ACT_ERRNO", errnoRet: 1,
  args: [{index: 0, value: 268435456, valueTwo: 268435456, op: "SCMP_CMP_MASKED_EQ"}]}]' "${settings[@]}"
start
runc exec $name /usr/bin/warren doctor >"$work/findings" || :
grep -q 'docker run --rm --entrypoint cat IMAGE /usr/share/warren/seccomp.json' "$work/findings" || fail "doctor says: $(cat "$work/findings")"
api POST "/profiles/$profile/start" >"$work/answer"
jq -e '.code == "browser_failed" and (.detail | contains("can make no sandbox"))' "$work/answer" >/dev/null || fail "without the file: $(cat "$work/answer")"
ok "without the file nothing starts, and doctor names it: $(jq -r .detail "$work/answer")"
stop
