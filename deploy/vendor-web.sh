#!/bin/sh
# Makes the files of web/vendor that are not copied byte for byte: the font's subset and the sheet of flags. It needs npm, python3 and fonttools
# with brotli (Debian: fonttools, python3-brotli). Run it in the root of the repository, and write the new sums to web/vendor/README.md.
set -eu

vendor=$PWD/web/vendor
export SOURCE_DATE_EPOCH=1700000000 # the font names no other time, and comes out the same each time
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm pack --silent inter-ui@4.1.1 country-flag-icons@1.6.20 >/dev/null
for archive in *.tgz; do mkdir "${archive%.tgz}" && tar xzf "$archive" -C "${archive%.tgz}"; done

# The weights that the page uses, one optical size, Latin letters with those of Central Europe, and tabular figures: 28 kB in place of 345.
fonttools varLib.instancer inter-ui-*/package/variable/InterVariable.woff2 opsz=14 wght=400:650 -o inter.ttf 2>/dev/null
pyftsubset inter.ttf --flavor=woff2 --output-file="$vendor/inter.woff2" --layout-features=kern,mark,mkmk,ccmp,locl,tnum,case \
  --unicodes=U+0020-007E,U+00A0-017F,U+0218-021B,U+1E9E,U+2010-2026,U+2030,U+2039-203A,U+20AC,U+2122,U+2190-2193,U+2212,U+2318,U+21E7
cp inter-ui-*/package/LICENSE.txt "$vendor/LICENSE-inter-ui.txt"
cp country-flag-icons-*/package/LICENSE "$vendor/LICENSE-country-flag-icons.txt"

# One sheet for all flags: each a symbol, named by its country's code. Flags that are drawn in 900 bytes and more are left out, but for the four that
# proxies are sold in most: half of the bytes would be for a fifth of the countries. Those show their code alone.
{
  printf '<svg xmlns="http://www.w3.org/2000/svg">'
  { find country-flag-icons-*/package/3x2 -name '??.svg' -size -900c; ls country-flag-icons-*/package/3x2/AU.svg country-flag-icons-*/package/3x2/HK.svg \
    country-flag-icons-*/package/3x2/PH.svg country-flag-icons-*/package/3x2/US.svg; } | LC_ALL=C sort -u | while read -r flag; do
    code=$(basename "$flag" .svg)
    sed -E "s|^<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"([^\"]*)\">|<symbol id=\"$code\" viewBox=\"\1\">|; s|</svg>\$|</symbol>|" "$flag"
  done
  printf '</svg>\n'
} >"$vendor/flags.svg"
