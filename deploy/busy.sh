#!/bin/sh
# Runs a command again and again beside processes that take all processors, and says how each round went: busy.sh ROUNDS COMMAND...
# It ends with 1 when a round failed. LOAD is how many processes there are beside it (6).
set -u

rounds=$1
shift
load=
end() { [ -z "$load" ] || kill $load 2>/dev/null; }
trap end EXIT
trap 'exit 1' INT TERM
for i in $(seq "${LOAD:-6}"); do
  while :; do :; done &
  load="$load $!"
done

failed=0
for i in $(seq "$rounds"); do
  began=$(date +%s)
  if "$@"; then how=passed; else how=FAILED; failed=1; fi
  echo "round $i of $rounds beside ${LOAD:-6} processes: $how after $(($(date +%s) - began)) s"
done
exit $failed
