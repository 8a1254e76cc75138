#!/usr/bin/env bash
# Tries the limits of runs with cgroup v2, in the machine of deploy/vm.sh:
#
#   go test -c -o cgroup.test ./cgroup && go test -c -o limits.test ./tests && go build -o warren .
#   MEMORY=3072 LIMIT=1500 deploy/vm.sh deploy/vm-cgroup.sh cgroup.test limits.test warren
#
# As root beside others, alone in a group, as an ordinary user with a delegated group, and with half of the controllers.
cd /in || exit 1
top=/sys/fs/cgroup
doctor() { ./warren doctor --data /tmp/doctor | grep limits; }
echo "== root, at the root of the tree"; doctor
./cgroup.test -test.v -test.timeout 300s | grep -E '^(---|PASS|FAIL|    )'
echo "+memory +pids +cpu +io" >$top/cgroup.subtree_control 2>/dev/null
echo "== an ordinary user, in a delegated group"
mkdir -p $top/own && chown -R 1000:1000 $top/own && setfattr -n user.delegate -v 1 $top/own 2>/dev/null
(echo $BASHPID >$top/own/cgroup.procs && exec setpriv --reuid 1000 --regid 1000 --clear-groups ./cgroup.test -test.v -test.run 'TestOOM|TestLimits|TestKill|TestUsage' -test.timeout 300s) |
	grep -E '^(---|PASS|FAIL|    )'
echo "== the same with two controllers"
mkdir -p $top/half/own && echo "+pids +cpu" >$top/half/cgroup.subtree_control && chown -R 1000:1000 $top/half/own
(echo $BASHPID >$top/half/own/cgroup.procs && exec setpriv --reuid 1000 --regid 1000 --clear-groups ./cgroup.test -test.v -test.run 'TestLimits|TestKill' -test.timeout 300s) |
	grep -E '^(---|PASS|FAIL|    )'
echo "== an ordinary user without one"
setpriv --reuid 1000 --regid 1000 --clear-groups ./cgroup.test -test.v -test.run TestLimits | grep -E '^(---|PASS|FAIL|    )'
echo "== a browser"
[ -f limits.test ] && WARREN_TEST_BINARY=/in/warren ./limits.test -test.v -test.run 'TestOutOfMemory$' -test.timeout 900s | grep -vE '"level"' | tail -40
