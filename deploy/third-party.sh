#!/bin/sh
# Writes the generated part of THIRD_PARTY_NOTICES: the Go modules and vendored files in the binaries of all platforms, with their licence texts.
# The part above "## Code" is written by hand. Run this script in the root of the repository after a change of go.mod or web/vendor.
set -eu

notices=THIRD_PARTY_NOTICES
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# entry prints one licence file: name, version, path.
entry() { printf '%s\t%s\t%s\n' "$@"; }

# modules lists what the binaries link: name, version, folder.
modules() {
  format='{{with .Module}}{{if not .Main}}{{with .Replace}}{{.Path}} {{.Version}} {{.Dir}}{{else}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}{{end}}'
  for platform in linux darwin windows; do
    CGO_ENABLED=0 GOOS=$platform go list -deps -f "$format" .
  done | sort -u
}

# files lists every licence file.
files() {
  entry 'Go (standard library, with time/tzdata)' "$(go env GOVERSION)" "$(go env GOROOT)/LICENSE"
  sed -n 's/^| \([a-z-]*\) | \([0-9.]*\) | [A-Z].*/\1 \2/p' web/vendor/README.md | while read -r name version; do
    entry "$name" "$version" "web/vendor/LICENSE-$name.txt"
  done
  modules | while read -r name version folder; do
    found=
    for file in "$folder"/LICEN* "$folder"/COPYING*; do
      case $file in
      *\** | *LICENSE-LOGO) continue ;; # no such file; a picture
      *sqlite@*LICENSE-3RD-PARTY.md | *SQLITE_VEC) continue ;; # modules that are listed by themselves, and packages that are not linked
      esac
      found=1
      entry "$name" "$version" "$file"
    done
    [ "$found" ] || { echo "$name has no licence file" >&2; exit 1; }
  done
}

files >"$work/files"
sed '/^## Code/,$d' "$notices" >"$work/new"
awk -F '\t' '
  # squeeze returns the letters and digits of a text, so that equal licences match whatever their line breaks.
  function squeeze(s) { s = tolower(s); gsub(/[^a-z0-9]/, "", s); return s }
  function kind(s) {
    if (s ~ /^apachelicense/) return "Apache-2.0"
    if (s ~ /^thirdpartysoftwarenotices/) return "third-party notices: BSD-3-Clause, MIT"
    if (s ~ /^permissiontousecopymodify/) return "ISC"
    if (s ~ /^(themitlicense|allrightsreservedmitlicense|gotomlv2)?permissionisherebygranted/) return "MIT"
    if (s ~ /silopenfontlicenseversion11/) return "OFL-1.1"
    if (s ~ /dedicatedtothepublic/) return "public domain"
    if (s ~ /^redistributionanduse.*(neitherthename|mustnotbeused)/) return "BSD-3-Clause"
    if (s ~ /^(bsd2clauselicense.*)?redistributionanduse/) return "BSD-2-Clause"
    if (s ~ /^thisprojectiscoveredbytwodifferentlicensesmitandapache/) return "MIT and Apache-2.0"
    print "unknown licence: " substr(s, 1, 80) > "/dev/stderr"
    exit 1
  }
  {
    body = holders = ""
    whole = $3 ~ /3RD-PARTY/
    while ((getline line < $3) > 0) {
      sub(/\r$/, "", line)
      if (!whole && line ~ /^ *(Original work |Modified work |Portions )?Copyright (\([cC]\)|©|[0-9])/) {
        sub(/^ */, "", line)
        holders = holders "    " line "\n"
      } else if (whole || line !~ /^ *((The )?(MIT|ISC) License.*|All rights reserved\.?|<http.*mit-license.*>)$/) {
        if (body != "" || line !~ /^[ \t]*$/) body = body line "\n"
      }
    }
    if (body ~ /^ *Apache License/) sub(/END OF TERMS AND CONDITIONS.*/, "END OF TERMS AND CONDITIONS", body) # what follows is a form
    sub(/\n+$/, "", body)
    k = squeeze(body)
    if (!(k in number)) { number[k] = ++n; text[n] = body; type[n] = kind(k) }
    i = number[k]
    rows = rows "| " $1 " | " $2 " | " type[i] " | " i " |\n"
    users[i] = users[i] $1 " " $2 "\n" holders
  }
  END {
    print "## Code\n\ndeploy/third-party.sh writes this part.\n"
    print "| component | version | licence | text |\n|---|---|---|---|\n" rows
    for (i = 1; i <= n; i++) print "## Text " i ": " type[i] "\n\n" users[i] "\n" text[i] (i < n ? "\n" : "")
  }' "$work/files" >>"$work/new"
cat "$work/new" >"$notices"
