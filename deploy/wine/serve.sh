#!/bin/sh
# Serves with the program of Windows in the folder $1 (warren.exe), under Wine: keys, profiles, a proxy with a password and its check, the
# command line, a kill in between. It ends with 1 at the first thing that does not hold.
set -eu
folder=$1
pids=
trap 'kill $pids 2>/dev/null || true' EXIT
. "$(dirname "$0")/again.sh"

# serve NAME FLAG… starts a server with a data folder of its own, and returns once it listens.
serve() {
  again "$folder/$1.log" begin "$@" || { code=$?; cat "$folder/$1.log"; echo "wine: the server $1 ended with $code before it listened"; exit 1; }
}

# begin starts the server NAME with its flags. It returns once the server listens, with the address in NAME.url, or has ended.
begin() {
  name=$1
  shift
  wine "$folder/warren.exe" serve --listen 127.0.0.1:0 --data "$(data "$name")" "$@" &
  server=$!
  pids="$pids $server"
  echo $server >"$folder/$name.pid"
  tail -n +1 -f --pid=$server "$folder/$name.log" | sed -n '/listening on/{s/.*listening on //;s/\r$//;p;q}' >"$folder/$name.url"
  [ -s "$folder/$name.url" ] || wait $server
}

# program runs a command of the program, and prints what it says.
program() { again "$folder/said" wine "$folder/warren.exe" "$@" >&2 || true; cat "$folder/said"; }

# data names a data folder as Windows does.
data() { printf 'Z:%s' "$folder/data-$1" | tr / '\\'; }

url() { cat "$folder/$1.url"; }

# api METHOD PATH [BODY] asks the server under test.
api() { curl -sS -X "$1" "$(url main)/api/v1$2" -H "Authorization: Bearer $key" -H 'Content-Type: application/json' ${3:+-d "$3"}; }

# want TEXT WHAT fails unless the text on standard input has TEXT in it.
want() { answer=$(cat); case $answer in *"$1"*) echo "wine: $2" ;; *) echo "$2: no $1 in: $answer"; exit 1 ;; esac; }

serve exit
serve main --check-url "$(url exit)/ip"
key=$(cat "$folder/data-main/admin.key")
export WARREN_URL="$(url main)" WARREN_API_KEY="$key"

profile=$(api POST /profiles '{"name":"Shop","os":"win","browserVersion":"150"}' | sed 's/.*"id":"\([^"]*\)".*/\1/')
api GET "/profiles/$profile" | want '"name":"Shop"' "profiles are kept"
api POST /profiles '{"name":"","os":"beos","browserVersion":"1"}' | want body.os "bad input is refused"
if command -v microsocks >/dev/null 2>&1; then
  port=$(url main | sed 's/.*://')
  port=$((port > 60000 ? port - 1000 : port + 1000))
  microsocks -i 127.0.0.1 -p "$port" -u alice -P secret >/dev/null 2>&1 &
  pids="$pids $!"
  curl -sS --retry 20 --retry-all-errors --retry-delay 1 -x "socks5://alice:secret@127.0.0.1:$port" "$(url exit)/ip" >/dev/null
  for password in secret wrong; do
    api POST /proxies/check '{"type":"socks5","host":"127.0.0.1","port":'"$port"',"username":"alice","password":"'$password'"}' >"$folder/$password"
  done
  want '"exitIp":"127.0.0.1"' "a SOCKS5 proxy with a password is checked" <"$folder/secret"
  want auth "a wrong password is told" <"$folder/wrong"
else
  echo "wine: the check of a proxy is skipped, microsocks is not installed"
fi
program key list | want admin "the command line lists keys"
program doctor | want browser "doctor speaks"
curl -sS "$(url main)/" | want '<html' "the page is there"

kill -9 "$(cat "$folder/main.pid")"
serve main
api GET "/profiles/$profile" | want '"name":"Shop"' "a killed server lost nothing"
