#!/bin/sh
# Installs Chromium with the platform's package manager when no browser is found. It says what it does.
set -eu

# The names and places are those that warren itself looks for (browser/find.go).
for name in "${WARREN_BROWSER:-}" chromium chromium-browser google-chrome-stable google-chrome chrome google-chrome-beta google-chrome-unstable \
  microsoft-edge-stable microsoft-edge msedge brave-browser brave ungoogled-chromium /snap/bin/chromium; do
  if [ -n "$name" ] && command -v "$name" >/dev/null 2>&1; then exit 0; fi
done
for path in "/Applications/Google Chrome.app" "/Applications/Chromium.app" "/usr/lib/chromium/chromium"; do
  if [ -e "$path" ]; then exit 0; fi
done

sudo=
if [ "$(id -u)" -ne 0 ]; then sudo=sudo; fi
say() {
  echo "No browser was found. Installing Chromium: $*"
  "$@"
}
if command -v apt-get >/dev/null 2>&1; then
  say $sudo apt-get update
  packages="chromium chromium-sandbox" # Debian
  if ! apt-cache show chromium-sandbox >/dev/null 2>&1; then packages=chromium-browser; fi # Ubuntu, which brings it as a snap
  say $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $packages
elif command -v dnf >/dev/null 2>&1; then
  say $sudo dnf install -y chromium
elif command -v pacman >/dev/null 2>&1; then
  say $sudo pacman -S --noconfirm chromium
elif command -v zypper >/dev/null 2>&1; then
  say $sudo zypper install -y chromium
elif command -v apk >/dev/null 2>&1; then
  say $sudo apk add chromium
elif command -v brew >/dev/null 2>&1; then
  say brew install --cask chromium
else
  echo "No browser was found, and no package manager that this script knows. Install Chrome or Chromium, then run make again." >&2
  exit 1
fi
