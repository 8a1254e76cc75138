#!/bin/sh
# Makes what people install, in dist/packages: archives for six platforms, deb and rpm for two, images of containers where they can be made
# (deploy/image.sh), SBOMs, SHA256SUMS, and manifests for Homebrew, winget and scoop. docs/operations.md, "Install", says what is where.
#
#   deploy/packages.sh           makes them
#   deploy/packages.sh --twice   makes them again from a copy in another folder, and compares: every byte has to be equal
#
#   VERSION=1.2.3        a semantic version; by itself the tag of the commit, or one that sorts between the tags
#   RELEASE_URL=URL      where the archives will be published; without it the manifests name a host that does not exist
#   MAINTAINER='A <b@c>' who answers for the deb and the rpm
#   COMMIT=SHA           what the programs say that they are of; by itself the commit
#   SOURCE_DATE_EPOCH    seconds since 1970 of every file; by itself the time of the commit (reproducible-builds.org)
#   ONLY=linux/amd64     these platforms alone, and no manifests
#   IMAGES=amd64         the architectures of the images: "" for none; by itself those of the platforms
#   OUT=dist/packages    where to, below this repository
#   FRESH=1              --twice compiles everything anew, which takes minutes, in place of what Go keeps compiled
#
# It needs Go, git, GNU tar, gzip, zip and jq. nfpm and cyclonedx-gomod are compiled from packaging.mod. Nothing is signed.
set -eu
cd "$(dirname "$0")/.."
umask 022
export LC_ALL=C TZ=UTC CGO_ENABLED=0 GOFLAGS= GOAMD64=v1 GOARM64=v8.0
unset GOOS GOARCH GOEXPERIMENT

platforms=${ONLY:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64}
out=${OUT:-dist/packages}

for tool in go git tar gzip zip jq sha256sum; do
  command -v $tool >/dev/null 2>&1 || { echo "packages.sh: $tool is missing" >&2; exit 1; }
done
tar --version 2>/dev/null | grep -q 'GNU tar' || { echo "packages.sh: tar has to be GNU tar, for --sort and --mtime" >&2; exit 1; }

# commit_version is the version of the commit: its tag, or "the last tag + commits since", or "before all tags", by time.
commit_version() {
  dirty=
  [ -z "$(git status --porcelain)" ] || dirty=.dirty
  if tag=$(git describe --tags --match 'v[0-9]*' 2>/dev/null); then
    tag=$(echo "${tag#v}" | sed 's/-\([0-9]*\)-g\([0-9a-f]*\)$/+\1.g\2/')
    case $tag in *+*) ;; *) dirty=${dirty:++dirty} ;; esac
    echo "$tag$dirty"
  else
    echo "0.0.0-dev.$(git log -1 --date=format-local:%Y%m%d%H%M%S --format=%cd).g$(git rev-parse --short=12 HEAD)$dirty"
  fi
}

VERSION=${VERSION:-$(commit_version)}
COMMIT=${COMMIT:-$(git rev-parse HEAD)}
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
RELEASE_URL=${RELEASE_URL:-https://warren.invalid/releases}
MAINTAINER=${MAINTAINER:-Whoever built this package <root@localhost>}
export VERSION COMMIT SOURCE_DATE_EPOCH RELEASE_URL MAINTAINER
echo "$VERSION" | grep -Eqx '[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?' ||
  { echo "packages.sh: VERSION=$VERSION is no semantic version, such as 1.2.3 or 1.3.0-rc.1" >&2; exit 2; }

# twice makes the packages here and from a copy, with other times, rights and places of the files.
twice() {
  copy=$(mktemp -d)
  trap 'chmod -R u+w "$copy"; rm -rf "$copy"' EXIT
  git ls-files -z --cached --others --exclude-standard | tar --null -T - -cf - | (umask 077 && tar --no-same-permissions -xmf - -C "$copy")
  "$0"
  (
    if [ -n "${FRESH:-}" ]; then export GOCACHE="$copy/.cache"; fi
    "$copy/deploy/packages.sh"
  )
  diff -r $out "$copy/$out" || { echo "packages.sh: the second build differs from the first" >&2; exit 1; }
  echo "The same $(find $out -type f | wc -l) files twice, to the byte."
}
case ${1:-} in
--twice) twice; exit ;;
'') ;;
*) echo "usage: deploy/packages.sh [--twice]" >&2; exit 2 ;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
new=$out.new
rm -rf $new
mkdir -p $new "$work/man" "$work/completions"

# warren compiles the binary for a platform.
warren() {
  GOOS=$1 GOARCH=$2 go build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=$VERSION -X main.commit=$COMMIT" -o "$3" .
}

# same gives all files of a folder the time of the commit, and the rights that everybody's files have.
same() {
  find "$1" -type d -exec chmod 755 {} +
  find "$1" -type f -exec chmod 644 {} +
  find "$1" \( -name warren -o -name warren.exe \) -type f -exec chmod 755 {} +
  find "$1" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
}

# fill writes a template of deploy/packages with its words between @s filled in: those of the environment, and the checksums of the archives.
fill() {
  sums=$(sed -n "s|^\([0-9a-f]*\)  warren-$VERSION-\([a-z]*\)-\([a-z0-9]*\)\..*|s/@SUM_\2_\3@/\1/;|p" "$work/sums" 2>/dev/null || :)
  sed -e "s|@VERSION@|$VERSION|g; s|@URL@|$RELEASE_URL|g; s|@MAINTAINER@|$MAINTAINER|g; s|@TREE@|$work|g; s|@ARCH@|${arch:-}|g" \
    -e "s|@TIME@|$(date -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)|g; $sums" "deploy/packages/$1" >"$2"
  ! grep -n '@[A-Z][A-Za-z0-9_]*@' "$2" || { echo "packages.sh: words of deploy/packages/$1 are not filled" >&2; exit 1; }
}

# The manual and the completions come from the program itself, which sees no configuration.
warren "$(go env GOHOSTOS)" "$(go env GOHOSTARCH)" "$work/host"
alone() { env -i HOME=/nonexistent PATH="$PATH" "$work/host" "$@"; }
[ "$(alone version | sed 's/(.*, /(/')" = "warren $VERSION (commit $COMMIT)" ] || { echo "packages.sh: the program is $(alone version)" >&2; exit 1; }
alone man "$work/man/man1" >/dev/null
alone completion bash >"$work/completions/warren.bash"
alone completion zsh >"$work/completions/_warren"
alone completion fish >"$work/completions/warren.fish"
alone completion powershell >"$work/completions/warren.ps1"

# archive packs a platform's folder, and writes what is in its binary (SBOM).
archive() {
  name=warren-$VERSION-$os-$arch
  folder=$work/$os-$arch/$name
  binary=warren
  [ $os != windows ] || binary=warren.exe
  echo "$name"
  mkdir -p "$folder/docs"
  warren $os $arch "$folder/$binary"
  cp README.md THIRD_PARTY_NOTICES "$folder/"
  [ ! -f LICENSE ] || cp LICENSE "$folder/"
  cp docs/*.md "$folder/docs/"
  cp -R "$work/completions" "$folder/"
  [ $os = windows ] || cp -R "$work/man" "$folder/"
  if [ $os = linux ]; then # the paths that `warren doctor` names
    mkdir "$folder/deploy"
    cp deploy/apparmor-warren deploy/seccomp.json "$folder/deploy/"
  fi
  same "$folder"
  if [ $os = windows ]; then
    (cd "$work/$os-$arch" && find "$name" | sort | zip -q -X -9 -@ archive.zip)
    mv "$work/$os-$arch/archive.zip" "$new/$name.zip"
  else
    tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" --format=gnu -C "$work/$os-$arch" -cf - "$name" |
      gzip -n -9 >"$new/$name.tar.gz"
  fi
  sbom "$folder/$binary" "$new/$name.cdx.json"
}

# sbom lists the modules in a binary (CycloneDX), and what the page has of others, which Go does not know of.
sbom() {
  go tool -modfile=packaging.mod cyclonedx-gomod bin -json -std -noserial -notimestamp -version "$VERSION" -output "$work/sbom" "$1" 2>"$work/log" ||
    { cat "$work/log" >&2; exit 1; }
  sed -n 's/^| \([a-z-]*\) | \([0-9.]*\) | \([A-Za-z0-9.-]*\) | sha512-.*/\1 \2 \3/p' web/vendor/README.md |
    jq -R 'split(" ") | {type: "library", name: .[0], version: .[1], purl: "pkg:npm/\(.[0])@\(.[1])", "bom-ref": "pkg:npm/\(.[0])@\(.[1])",
      licenses: [{license: {id: .[2]}}]}' | jq -s . >"$work/page"
  jq --slurpfile page "$work/page" '.components += $page[0]' "$work/sbom" >"$2"
}

for platform in $platforms; do
  os=${platform%/*}
  arch=${platform#*/}
  archive
done

# The deb and the rpm have the binaries of the archives.
mkdir "$work/share"
cp deploy/packages/config.toml deploy/apparmor-warren deploy/seccomp.json THIRD_PARTY_NOTICES "$work/share/"
cp deploy/packages/postinst deploy/packages/prerm deploy/packages/postrm "$work/share/"
cp deploy/warren.service deploy/warren-user.service deploy/warren.sysusers deploy/warren.tmpfiles "$work/share/"
mkdir "$work/man/gz"
for page in "$work"/man/man1/*; do gzip -n -9 <"$page" >"$work/man/gz/$(basename "$page").gz"; done
same "$work"
for arch in amd64 arm64; do
  [ -d "$work/linux-$arch" ] || continue
  cp -p "$work/linux-$arch/warren-$VERSION-linux-$arch/warren" "$work/share/warren"
  fill nfpm.yaml "$work/nfpm.yaml"
  for packager in deb rpm; do
    go tool -modfile=packaging.mod nfpm package --config "$work/nfpm.yaml" --packager $packager --target $new/ >/dev/null
  done
done

# The images have the binaries of the archives, too.
for arch in ${IMAGES-amd64 arm64}; do
  folder=$work/linux-$arch/warren-$VERSION-linux-$arch
  [ -d "$folder" ] || continue
  cp "$new/$(basename "$folder").cdx.json" "$folder.cdx.json"
  deploy/image.sh $arch "$folder" "$new/warren-$VERSION-linux-$arch.oci.tar" || [ $? -eq 77 ]
done

# The manifests have the archives' checksums.
if [ -z "${ONLY:-}" ]; then
  (cd $new && sha256sum -- *.tar.gz *.zip) >"$work/sums"
  mkdir $new/winget
  fill warren.rb $new/warren.rb
  fill scoop.json $new/warren.json
  jq -e . $new/warren.json >/dev/null
  for part in .installer .locale.en-US ''; do fill winget$part.yaml $new/winget/Warren.Warren$part.yaml; done
fi
(cd $new && find . -type f | sed 's|^\./||' | sort | xargs -d '\n' sha256sum --) >"$work/sums"
mv "$work/sums" $new/SHA256SUMS
chmod 644 $new/SHA256SUMS
rm -rf $out
mv $new $out
ls -l $out
