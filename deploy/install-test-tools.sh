#!/bin/sh
# Installs what tests use beside a browser: ip, nft, strace, Xvfb, four reverse proxies, three proxy servers, two shells, PostgreSQL, PgBouncer, faketime and, for Selenium, chromedriver. It does so as root and with apt alone; anywhere else it
# says what is missing, and the tests that need it are skipped and say so.
set -eu
PATH=$PATH:/usr/sbin:/sbin # where ordinary users may not look

missing=
driver= # Debian's, which is of its Chromium's version; elsewhere the tests that need it are skipped
if apt-cache show chromium-driver >/dev/null 2>&1; then driver=chromedriver:chromium-driver; fi
for tool in ip:iproute2 nft:nftables strace:strace Xvfb:xvfb nginx:nginx-light haproxy:haproxy apache2:apache2 caddy:caddy microsocks:microsocks tinyproxy:tinyproxy squid:squid zsh:zsh fish:fish pgbouncer:pgbouncer faketime:faketime $driver; do
  command -v "${tool%%:*}" >/dev/null 2>&1 || missing="$missing ${tool#*:}"
done
set -- /usr/lib/postgresql/*/bin/postgres # Debian's, which is not in PATH
if [ ! -x "$1" ] && ! command -v postgres >/dev/null 2>&1; then missing="$missing postgresql"; fi
if [ -z "$missing" ] || [ "$(uname -s)" != Linux ]; then exit 0; fi
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
  echo "Some tests will be skipped, for want of:$missing"
  exit 0
fi
echo "Installing what tests need:$missing"
apt-get update
# Debian's package makes a cluster, which every boot starts from then on. Tests start servers of their own (testnet/postgres.go).
case $missing in *postgresql*)
  RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends postgresql-common || :
  if [ -f /etc/postgresql-common/createcluster.conf ]; then
    echo 'create_main_cluster = false # warren: deploy/install-test-tools.sh' >>/etc/postgresql-common/createcluster.conf
  fi ;;
esac
# shellcheck disable=SC2086 # one word per package
# RUNLEVEL=1: what is installed is not started as a service (invoke-rc.d(8)).
RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing || echo "Some tests will be skipped, for want of:$missing"
