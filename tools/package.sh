#!/bin/bash
# Builds the Debian package, target/debian/ferrovia_*.deb. PROFILE=dev packs debug builds: quick, to try
# the packaging; FAST=1 compresses less.
set -eu
cd "$(dirname "$0")/.."
profile=${PROFILE:-release}
folder=${profile/dev/debug}
stage=target/package

command -v cargo-deb >/dev/null || cargo install --locked cargo-deb
cargo build --profile "$profile" --workspace --bin ferrovia --bin fvctl
if [ "$profile" = release ]; then
    cargo xtask weight > target/weight.txt || { tail -n 2 target/weight.txt; exit 1; }
fi
tools/docs.sh
rm -rf $stage
mkdir -p $stage/man $stage/sdk $stage/bin $stage/include
cargo xtask man $stage/man
cp docs/reference/api $stage/api -r
make -s install DESTDIR=$stage/root PREFIX=/usr
mv $stage/root/usr/share/ferrovia/sdk $stage/sdk/sdk
cp -L $stage/sdk/sdk/include/ferrovia.h $stage/include/
cat > $stage/bin/ferrovia-new-plugin <<'END'
#!/bin/sh
exec /bin/sh /usr/share/ferrovia/sdk/new-plugin "$@"
END
# The name under which scripts for the original call it.
cat > $stage/bin/vppctl <<'END'
#!/bin/sh
exec /usr/bin/fvctl "$@"
END
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
cat > $stage/changelog.Debian <<END
ferrovia ($version-1) unstable; urgency=medium

  * See /usr/share/doc/ferrovia/html/index.html.

 -- The Ferrovia authors <ferrovia@localhost.localdomain>  $(date -R -d "@$(git log -1 --format=%ct)")
END
gzip -9nf $stage/changelog.Debian
# Programs among files that are none.
mkdir -p $stage/sdk-bin $stage/template-bin
mv $stage/sdk/sdk/new-plugin $stage/sdk-bin/
mv $stage/sdk/sdk/template/test.sh $stage/template-bin/
rm -r $stage/root
cargo deb --no-build -p ferrovia --profile "$profile" ${FAST:+--fast}
ls -l target/debian/*.deb
