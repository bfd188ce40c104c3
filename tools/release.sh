#!/bin/bash
# Builds what a release publishes, into target/published: the Debian package, a tarball of the programs
# and the manual, a container image where podman is installed, notes and checksums.
# The same commit and compiler give the same files: all times in them are the commit's.
set -euo pipefail
cd "$(dirname "$0")/.."
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
name=ferrovia-$version-linux-amd64
out=target/published
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
# Paths of this machine are in no message of a panic.
export CARGO_ENCODED_RUSTFLAGS="-Cllvm-args=-align-loops=64$(printf '\x1f')--remap-path-prefix=$PWD=/ferrovia$(printf '\x1f')--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo"

tools/package.sh
rm -rf "$out"
mkdir -p "$out/$name"
cp target/debian/*.deb "$out/"
strip -o "$out/$name/ferrovia" target/release/ferrovia
strip -o "$out/$name/fvctl" target/release/fvctl
ln -s fvctl "$out/$name/vppctl"
cp LICENSE README.md packaging/deb/startup.conf "$out/$name/"
cp -r target/package/man target/docs-site "$out/$name/"
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" \
    -C "$out" -czf "$out/$name.tar.gz" "$name"
rm -r "${out:?}/$name"
# The newest section of the changes.
awk '/^## /{ part++ } part == 1' CHANGELOG.md > "$out/NOTES.md"
if command -v podman >/dev/null; then
    podman build -q -t "ferrovia:$version" -f packaging/container/Containerfile .
    podman save -o "$out/ferrovia-$version-image.tar" "ferrovia:$version"
else
    echo "no container image: podman is missing" >&2
fi
(cd "$out" && sha256sum -- * > SHA256SUMS && ls -l)
