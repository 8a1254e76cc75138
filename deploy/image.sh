#!/bin/sh
# Makes the image of a container without a daemon: Debian with Chromium and fonts, and Warren above it, as an OCI layout in a tar, which
# `docker load` and `podman load` read too. deploy/packages.sh calls it; docs/operations.md, "A container", says how to run it.
#
#   deploy/image.sh ARCH FOLDER OUT.tar
#
# ARCH is amd64 or arm64, FOLDER an archive's folder, with the binary. VERSION, COMMIT and SOURCE_DATE_EPOCH are what deploy/packages.sh gives.
#
#   ROOT=FILE         the root file system to take (.tar.gz), in place of one that is made from Debian's packages and kept for a week
#   APT_SOURCES=FILE  where the packages are; by itself the machine's own list
#
# It needs mmdebstrap, which needs root or user namespaces, GNU tar, gzip and jq. Where the root file system cannot be made, it says so and
# ends with 77. With the same ROOT every byte of the image is the same again. The layout is of
# github.com/opencontainers/image-spec/blob/main/image-layout.md; Healthcheck in the configuration is Docker's addition.
set -eu
export LC_ALL=C TZ=UTC
umask 022
[ $# -eq 3 ] || { echo "usage: deploy/image.sh ARCH FOLDER OUT.tar" >&2; exit 2; }
arch=$1 folder=$2 out=$3
suite=bookworm
packages=chromium,chromium-l10n,ca-certificates,tzdata,tini
packages=$packages,fonts-liberation,fonts-dejavu-core,fonts-noto-core,fonts-noto-cjk,fonts-noto-color-emoji
layout=1                # to be raised when what a root file system is made with changes
user=10001              # of nobody on the host
root_time=1767225600    # no file of the root file system is younger: what is made by the same packages is the same
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

skip() { echo "image.sh: no image for $arch: $*" >&2; exit 77; }

# make_root makes the root file system: Debian's packages without manuals, the user, and an empty volume.
make_root() {
  command -v mmdebstrap >/dev/null 2>&1 || skip "mmdebstrap is not installed"
  sources=${APT_SOURCES:-/etc/apt/sources.list.d/debian.sources}
  [ -e "$sources" ] || skip "APT_SOURCES has to name a list of Debian's packages"
  mkdir -p "$cache"
  echo "image.sh: Debian's packages for $arch, which takes minutes" >&2
  # shellcheck disable=SC2016 # $1 is the hook's: the folder of the root file system
  SOURCE_DATE_EPOCH=$root_time mmdebstrap --variant=minbase --architectures="$arch" --aptopt='Acquire::Check-Valid-Until "false"' \
    --dpkgopt=path-exclude=/usr/share/man/* --dpkgopt=path-exclude=/usr/share/doc/* --dpkgopt=path-include=/usr/share/doc/*/copyright \
    --include=$packages --customize-hook='echo warren:x:'$user':'$user':Warren:/home/warren:/usr/sbin/nologin >>"$1/etc/passwd"' \
    --customize-hook='echo warren:x:'$user': >>"$1/etc/group"' \
    --customize-hook='install -d -m 700 -o '$user' -g '$user' "$1/home/warren" "$1/data"' \
    --customize-hook='rm -f "$1/etc/apt/apt.conf.d/99mmdebstrap" "$1/etc/dpkg/dpkg.cfg.d/99mmdebstrap" "$1/etc/hostname" "$1/etc/resolv.conf"' \
    --customize-hook='rm -rf "$1"/var/log/* "$1"/var/cache/fontconfig/* "$1"/var/cache/ldconfig/*' \
    $suite "$work/root.tar" "$sources" >"$cache/mmdebstrap-$arch.log" 2>&1 ||
    skip "the root file system could not be made ($cache/mmdebstrap-$arch.log)"
  gzip -n <"$work/root.tar" >"$root.new"
  rm "$work/root.tar"
  mv "$root.new" "$root"
}

cache=${XDG_CACHE_HOME:-$HOME/.cache}/warren-image
root=${ROOT:-$cache/$suite-$arch-$(echo "$packages $layout $user $root_time" | cksum | cut -d ' ' -f 1).tar.gz}
if [ -z "${ROOT:-}" ] && [ -z "$(find "$root" -mtime -7 2>/dev/null)" ]; then make_root; fi

# sorted writes a folder as a tar that says nothing of this machine.
sorted() {
  (cd "$1" && tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" --format=gnu -cf - -- *)
}

# What lies above Debian: the files that the deb has, but for the unit and the manual.
over=$work/over
mkdir -p "$over/usr/bin" "$over/usr/share/warren" "$over/usr/share/doc/warren" "$over/etc/warren"
cp "$folder/warren" "$over/usr/bin/"
cp "$folder/deploy/apparmor-warren" "$folder/deploy/seccomp.json" "$over/usr/share/warren/"
cp "$folder/THIRD_PARTY_NOTICES" "$over/usr/share/doc/warren/copyright"
sorted "$over" | gzip -n >"$work/over.tar.gz"

# blob puts a file into the layout under its digest, and prints that with its size.
blobs=$work/layout/blobs/sha256
mkdir -p "$blobs"
digest() { sha256sum | cut -d ' ' -f 1; }
blob() {
  name=$(digest <"$1")
  ln "$1" "$blobs/$name" 2>/dev/null || cp "$1" "$blobs/$name"
  jq -n --arg digest "sha256:$name" --argjson size "$(stat -L -c %s "$1")" --arg type "$2" '{mediaType: $type, digest: $digest, size: $size}'
}

created=$(date -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)
tag=$(echo "$VERSION" | tr + _) # a tag has no +
jq -n --arg created "$created" --arg arch "$arch" --arg version "$VERSION" --arg commit "${COMMIT:-unknown}" --arg user "$user:$user" \
  --arg lower "sha256:$(gzip -dc "$root" | digest)" --arg upper "sha256:$(gzip -dc "$work/over.tar.gz" | digest)" --arg suite $suite '{
    created: $created, architecture: $arch, os: "linux",
    config: {
      User: $user, WorkingDir: "/data", Volumes: {"/data": {}}, ExposedPorts: {"7777/tcp": {}}, StopSignal: "SIGTERM",
      Entrypoint: ["/usr/bin/tini", "--", "/usr/bin/warren"], Cmd: ["serve"],
      Env: ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", "WARREN_DATA=/data",
        "WARREN_LISTEN=0.0.0.0:7777", "CONFIGURATION_DIRECTORY=/etc/warren", "container=oci"],
      Healthcheck: {Test: ["CMD", "/usr/bin/warren", "server", "ready"], Interval: 30000000000, Timeout: 10000000000,
        StartPeriod: 60000000000, Retries: 3},
      Labels: {
        "org.opencontainers.image.title": "Warren", "org.opencontainers.image.description": "Browser profiles, each behind its proxy",
        "org.opencontainers.image.version": $version, "org.opencontainers.image.revision": $commit,
        "org.opencontainers.image.created": $created, "org.opencontainers.image.licenses": "NOASSERTION",
        "warren.licences": "Warren has none yet. Those of others: /usr/share/doc/*/copyright in the image"}},
    rootfs: {type: "layers", diff_ids: [$lower, $upper]},
    history: [{created: $created, created_by: "Debian \($suite): Chromium and fonts"}, {created: $created, created_by: "Warren \($version)"}]
  }' >"$work/config"
oci=application/vnd.oci.image
config=$(blob "$work/config" $oci.config.v1+json)
lower=$(blob "$root" $oci.layer.v1.tar+gzip)
upper=$(blob "$work/over.tar.gz" $oci.layer.v1.tar+gzip)
jq -n --arg type $oci.manifest.v1+json --argjson config "$config" --argjson lower "$lower" --argjson upper "$upper" \
  '{schemaVersion: 2, mediaType: $type, config: $config, layers: [$lower, $upper]}' >"$work/manifest"
blob "$work/manifest" $oci.manifest.v1+json | jq --arg type $oci.index.v1+json --arg tag "$tag" --arg arch "$arch" '{
    schemaVersion: 2, mediaType: $type, manifests: [. + {platform: {architecture: $arch, os: "linux"}, annotations: {
      "org.opencontainers.image.ref.name": $tag, "io.containerd.image.name": "docker.io/library/warren:\($tag)"}}]
  }' >"$work/layout/index.json"
echo '{"imageLayoutVersion": "1.0.0"}' >"$work/layout/oci-layout"
# What Docker reads that knows no layouts.
jq -n --argjson config "$config" --argjson lower "$lower" --argjson upper "$upper" --arg tag "$tag" '
  def path: "blobs/" + (.digest | sub(":"; "/"));
  [{Config: ($config | path), RepoTags: ["warren:\($tag)"], Layers: [$lower, $upper | path]}]' >"$work/layout/manifest.json"
chmod 644 "$blobs"/*
sorted "$work/layout" >"$out.new"
mv "$out.new" "$out"

# The SBOM (CycloneDX): what is in the binary, and Debian's packages.
if [ -f "$folder.cdx.json" ]; then
  tar -xOzf "$root" ./var/lib/dpkg/status | awk '/^Package: / {p = $2} /^Version: / {v = $2} /^Architecture: / {a = $2} /^$/ {print p, v, a}' |
    jq -R 'split(" ") | "pkg:deb/debian/\(.[0] | @uri)@\(.[1] | @uri)?arch=\(.[2])" as $purl |
      {type: "library", name: .[0], version: .[1], purl: $purl, "bom-ref": $purl}' | jq -s . >"$work/debs"
  jq --slurpfile debs "$work/debs" '.components += $debs[0]' "$folder.cdx.json" >"${out%.tar}.cdx.json"
fi
