#!/bin/sh
# Serves with the program of Windows in the folder $1 (warren.exe), under Wine: keys, profiles, a proxy with a password and its check, the
# command line, a kill in between. It ends with 1 at the first thing that does not hold.
set -eu
folder=$1
pids=
trap 'kill $pids 2>/dev/null || true' EXIT

# serve NAME FLAG… starts a server with a data folder of its own, and returns once it listens. Wine now and then ends a program before the
# program has begun (docs/windows.md): one that ended and said nothing at all, not even what it lacks, is started again, twice at most.
serve() {
  for try in 1 2 3; do
    begin "$@"
    [ ! -s "$folder/$1.url" ] || return 0
    code=0
    wait "$(cat "$folder/$1.pid")" || code=$?
    echo "wine: the server $1 ended with $code before it listened, try $try"
    cat "$folder/$1.out" "$folder/$1.err"
    [ ! -s "$folder/$1.out" ] && [ ! -s "$folder/$1.err" ] || break
  done
  exit 1
}

# begin starts the server NAME with its flags, and waits until it listens or has ended. Its address is in NAME.url then.
begin() {
  name=$1
  shift
  : >"$folder/$name.out"
  wine "$folder/warren.exe" serve --listen 127.0.0.1:0 --data "$(data "$name")" "$@" >"$folder/$name.out" 2>"$folder/$name.err" &
  pids="$pids $!"
  echo $! >"$folder/$name.pid"
  tail -n +1 -f --pid=$! "$folder/$name.out" | sed -n '/listening on/{s/.*listening on //;s/\r$//;p;q}' >"$folder/$name.url"
}

# program runs a command of the program, which prints something: again, twice at most, where Wine ended it without a word.
program() {
  for try in 1 2 3; do
    said=$(wine "$folder/warren.exe" "$@" 2>&1) || true
    [ -z "$said" ] || break
    echo "wine: $1 ended before it began, try $try" >&2
  done
  printf '%s\n' "$said"
}

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
