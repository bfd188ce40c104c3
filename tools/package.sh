#!/bin/bash
# Builds the Debian packages, target/debian/ferrovia_*.deb and ferrovia-agent_*.deb, with Debian's own tools.
#
# PROGRAMS=FOLDER packs programs that are built already; PROFILE=dev builds and packs debug ones: quick, to
# try the packaging. FAST=1 compresses less. MANUAL=no leaves out the manual's pages, which mdbook makes.
# SOURCE_DATE_EPOCH, the commit's time unless it is set, is the time of all files in it.
set -eu
cd "$(dirname "$0")/.."
profile=${PROFILE:-release}
folder=${CARGO_TARGET_DIR:-target}
programs=${PROGRAMS:-$folder/${profile/dev/debug}}
stage=$folder/package
root=$stage/root
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
umask 022

if [ -z "${PROGRAMS:-}" ]; then
    cargo build --profile "$profile" --workspace --bin ferrovia --bin fvctl --bin ferrovia-agent
    cargo build --profile "$profile" -p vcl_ldpreload --lib
    if [ "$profile" = release ]; then
        cargo xtask weight > "$folder/weight.txt" || { tail -n 2 "$folder/weight.txt"; exit 1; }
    fi
fi
rm -rf "$stage"
mkdir -p "$root/DEBIAN" "$stage/man"

# Puts files into a folder of the package.
put() {
    local folder=$root/$1 mode=$2
    shift 2
    install -d "$folder"
    install -m "$mode" "$@" "$folder/"
}
doc=usr/share/doc/ferrovia
put usr/bin 755 "$programs/ferrovia" "$programs/fvctl"
strip "$root/usr/bin/ferrovia" "$root/usr/bin/fvctl"
# Libraries of programs that use the host stack.
if [ -e "$programs/libvcl_ldpreload.so" ]; then
    put usr/lib/x86_64-linux-gnu 644 "$programs/libvcl_ldpreload.so"
    strip "$root/usr/lib/x86_64-linux-gnu/libvcl_ldpreload.so"
fi
put etc/ferrovia 644 packaging/deb/startup.conf
put lib/systemd/system 644 packaging/systemd/ferrovia.service
put usr/share/lintian/overrides 644 packaging/deb/lintian-overrides
mv "$root/usr/share/lintian/overrides/lintian-overrides" "$root/usr/share/lintian/overrides/ferrovia"
put usr/share/bash-completion/completions 644 packaging/completion/fvctl.bash
mv "$root/usr/share/bash-completion/completions/fvctl.bash" "$root/usr/share/bash-completion/completions/fvctl"
put usr/share/zsh/vendor-completions 644 packaging/completion/_fvctl
put usr/share/fish/vendor_completions.d 644 packaging/completion/fvctl.fish
put $doc/grafana 644 packaging/grafana/*

cargo xtask man "$stage/man"
for page in "$stage"/man/*; do
    gzip -9nf "$page"
    case $page in */ferrovia-agent.8) continue ;; esac
    put "usr/share/man/man${page##*.}" 644 "$page.gz"
done
install -d "$root/usr/share/vpp"
cp -r docs/reference/api "$root/usr/share/vpp/api"

# Plugins in files are built with this; the names on the path are scripts, not links out of the package.
make -s install DESTDIR="$stage/sdk" PREFIX=/usr PROGRAMS=/none
install -d "$root/usr/share/ferrovia"
cp -r "$stage/sdk/usr/share/ferrovia/sdk" "$root/usr/share/ferrovia/sdk"
chmod 755 "$root"/usr/share/ferrovia/sdk/new-plugin "$root"/usr/share/ferrovia/sdk/template/test.sh
put usr/include 644 sdk/include/ferrovia.h
script() {
    printf '#!/bin/sh\n%s\n' "$2" > "$root/usr/bin/$1"
    chmod 755 "$root/usr/bin/$1"
}
script ferrovia-new-plugin 'exec /bin/sh /usr/share/ferrovia/sdk/new-plugin "$@"'
# The name under which scripts for the original call it.
script vppctl 'exec /usr/bin/fvctl "$@"'

if [ "${MANUAL:-yes}" = yes ]; then
    tools/docs.sh
    cp -r target/docs-site "$root/$doc/html"
fi
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
cat > "$root/$doc/changelog.Debian" <<END
ferrovia ($version-1) unstable; urgency=medium

  * See /usr/share/doc/ferrovia/html/index.html.

 -- The Ferrovia authors <ferrovia@localhost.localdomain>  $(date -u -R -d "@$SOURCE_DATE_EPOCH")
END
gzip -9nf "$root/$doc/changelog.Debian"
cat > "$root/$doc/copyright" <<END
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: ferrovia
Copyright: 2026, the Ferrovia authors
License: Apache-2.0
 See /usr/share/common-licenses/Apache-2.0.
END

# Depends on the versions of libraries that the programs were linked with.
mkdir -p "$stage/debian"
printf 'Source: ferrovia\n\nPackage: ferrovia\nArchitecture: any\n' > "$stage/debian/control"
needs=$(cd "$stage" && dpkg-shlibdeps -O root/usr/bin/ferrovia root/usr/bin/fvctl 2>/dev/null)
needs=${needs#shlibs:Depends=}
# Relocations in their short form are no symbol that dpkg-shlibdeps knows: glibc reads them from 2.36 on.
if readelf -V "$root/usr/bin/ferrovia" | grep -q GLIBC_ABI_DT_RELR; then
    needs=$(echo "$needs" | sed 's/libc6 ([^)]*)/libc6 (>= 2.36)/')
fi
(cd "$root" && find . -path ./DEBIAN -prune -o -type f -printf '%P\n' | LC_ALL=C sort |
    xargs -d '\n' md5sum > DEBIAN/md5sums)
echo /etc/ferrovia/startup.conf > "$root/DEBIAN/conffiles"
install -m 755 packaging/deb/postinst packaging/deb/prerm packaging/deb/postrm "$root/DEBIAN/"
cat > "$root/DEBIAN/control" <<END
Package: ferrovia
Version: $version-1
Architecture: amd64
Maintainer: The Ferrovia authors <ferrovia@localhost.localdomain>
Installed-Size: $(du -sk --apparent-size --exclude=DEBIAN "$root" | cut -f1)
Depends: ${needs:-libc6}, adduser
Recommends: libpcap0.8, iproute2
Section: net
Priority: optional
Description: Vector packet processor: router, switch and address translator in user space
 Moves packets in vectors through a graph of nodes, outside the kernel. From
 outside it behaves like VPP of FD.io: the same startup.conf, command line,
 binary API and statistics. Installing it starts nothing, takes no interface
 and changes no setting of the system: systemctl enable --now ferrovia.
END
# Times of files are that of the commit, and their order is dpkg-deb's own.
find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
mkdir -p "$folder/debian"
rm -f "$folder"/debian/*.deb
dpkg-deb --root-owner-group -Zxz ${FAST:+-z1} --build "$root" "$folder/debian/ferrovia_$version-1_amd64.deb"

# The agent of a fleet: a package of its own, which needs nothing of the router's.
copyright=$root/$doc/copyright agent_man=$stage/man/ferrovia-agent.8.gz
zcat "$root/$doc/changelog.Debian.gz" | sed 's/^ferrovia /ferrovia-agent /; s/[*] See .*/* See ferrovia-agent(8)./' |
    gzip -9n > "$stage/changelog.Debian.gz"
agent=$stage/agent
root=$agent
doc=usr/share/doc/ferrovia-agent
mkdir -p "$root/DEBIAN"
put usr/bin 755 "$programs/ferrovia-agent"
strip "$root/usr/bin/ferrovia-agent"
put lib/systemd/system 644 packaging/systemd/ferrovia-agent.service
put usr/share/man/man8 644 "$agent_man"
put $doc 644 "$copyright" "$stage/changelog.Debian.gz"
needs=$(cd "$stage" && dpkg-shlibdeps -O agent/usr/bin/ferrovia-agent 2>/dev/null)
needs=${needs#shlibs:Depends=}
if readelf -V "$root/usr/bin/ferrovia-agent" | grep -q GLIBC_ABI_DT_RELR; then
    needs=$(echo "$needs" | sed 's/libc6 ([^)]*)/libc6 (>= 2.36)/')
fi
(cd "$root" && find . -path ./DEBIAN -prune -o -type f -printf '%P\n' | LC_ALL=C sort |
    xargs -d '\n' md5sum > DEBIAN/md5sums)
for script in postinst prerm postrm; do
    install -m 755 packaging/deb/agent.$script "$root/DEBIAN/$script"
done
cat > "$root/DEBIAN/control" <<END
Package: ferrovia-agent
Version: $version-1
Architecture: amd64
Maintainer: The Ferrovia authors <ferrovia@localhost.localdomain>
Installed-Size: $(du -sk --apparent-size --exclude=DEBIAN "$root" | cut -f1)
Depends: ${needs:-libc6}, adduser
Recommends: ferrovia
Section: net
Priority: optional
Description: Agent of a fleet of Ferrovia routers
 Holds this machine's router to the state that an etcd desires, and is the
 operator's tool for the states of all routers. Installing it starts nothing:
 write /etc/ferrovia/agent.conf, then systemctl enable --now ferrovia-agent.
END
find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
dpkg-deb --root-owner-group -Zxz ${FAST:+-z1} --build "$root" \
    "$folder/debian/ferrovia-agent_$version-1_amd64.deb"
ls -l "$folder"/debian/*.deb
