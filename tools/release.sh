#!/bin/bash
# Builds what a release publishes, into target/published: the Debian package, a tarball of the programs
# and the manual, a container image, notes and checksums. PROGRAMS=FOLDER and MANUAL=no: tools/package.sh.
# The same commit and compiler give the same files: all times in them are the commit's, files come in the
# order of their names, and no path of this machine is in the programs.
set -euo pipefail
cd "$(dirname "$0")/.."
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
name=ferrovia-$version-linux-amd64
target=${CARGO_TARGET_DIR:-target}
out=$target/published
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
# Paths of this machine are in no message of a panic.
separator=$(printf '\x1f')
cargo_home=${CARGO_HOME:-$HOME/.cargo}
flags=(-Cllvm-args=-align-loops=64 "--remap-path-prefix=$PWD=/ferrovia" "--remap-path-prefix=$cargo_home=/cargo"
    "--remap-path-prefix=$(rustc --print sysroot)=/rust")
CARGO_ENCODED_RUSTFLAGS=$(IFS=$separator; echo "${flags[*]}")
export CARGO_ENCODED_RUSTFLAGS

tools/package.sh
rm -rf "$out"
mkdir -p "$out/$name"
cp "$target"/debian/*.deb "$out/"

# Packs files as root's, with the commit's time, in the order of their names.
pack() { tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" --format=gnu "$@"; }

# The programs load plugins and libpcap, which static ones cannot: they need a C library, that of Debian 12
# (2.36) or a later one, and nothing else.
root=$target/package/root
cp "$root/usr/bin/ferrovia" "$root/usr/bin/fvctl" "$out/$name/"
ln -s fvctl "$out/$name/vppctl"
cp LICENSE README.md packaging/deb/startup.conf packaging/systemd/ferrovia.service "$out/$name/"
cp -r "$root/usr/share/man" "$out/$name/man"
if [ -d "$root/usr/share/doc/ferrovia/html" ]; then cp -r "$root/usr/share/doc/ferrovia/html" "$out/$name/manual"; fi
pack -C "$out" -c "$name" | gzip -9n > "$out/$name.tar.gz"
rm -r "${out:?}/$name"

tools/image.sh "$root/usr/bin" "$out/ferrovia-$version-image.tar.gz"
# The newest section of the changes.
awk '/^## /{ part++ } part == 1' CHANGELOG.md > "$out/NOTES.md"
(cd "$out" && sha256sum -- * > SHA256SUMS && ls -l)
