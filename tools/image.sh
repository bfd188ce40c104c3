#!/bin/bash
# Packs programs of a folder as a container image, without a daemon or a registry: an OCI layout in a file
# that `podman load' and `docker load' take.
#
#   tools/image.sh PROGRAMS FILE.tar.gz
#
# In it are the programs, the libraries of this machine that they need, and a configuration: no shell, no
# package manager. SOURCE_DATE_EPOCH is the time of all that is in it.
set -euo pipefail
programs=$(readlink -f "$1")
file=$(readlink -m "$2")
cd "$(dirname "$0")/.."
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
epoch=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022
root=$work/root

pack() { tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$epoch" --format=gnu "$@"; }

mkdir -p "$root"/{usr/bin,etc/ferrovia,run/vpp,var/lib/ferrovia,tmp,dev,proc,sys}
mkdir -p "$root"/usr/lib64 "$root"/usr/lib/x86_64-linux-gnu "$root"/usr/share/doc
chmod 1777 "$root/tmp"
ln -s usr/lib "$root/lib"
ln -s usr/lib64 "$root/lib64"
install -m 755 "$programs/ferrovia" "$programs/fvctl" "$root/usr/bin/"
ln -s fvctl "$root/usr/bin/vppctl"
install -m 644 packaging/deb/startup.conf "$root/etc/ferrovia/"
echo 'root:x:0:0:root:/:/none' > "$root/etc/passwd"
printf 'root:x:0:\nferrovia:x:999:\n' > "$root/etc/group"

# Libraries of a program, those that it loads by name among them, with the terms of their packages.
libraries() { ldd "$@" | sed -nE 's/.*=> (\/[^ ]+) .*/\1/p; s/^[[:space:]]*(\/[^ ]+) \(.*/\1/p'; }
pcap=$(/sbin/ldconfig -p | sed -n 's/.*libpcap\.so\.0\.8 .*=> //p' | head -1)
{
    libraries "$programs/ferrovia" "$programs/fvctl"
    if [ -n "$pcap" ]; then echo "$pcap"; libraries "$pcap"; fi
} | sort -u | while read -r library; do
    case $library in
        */ld-linux-*) install -m 755 "$library" "$root/usr/lib64/" ;;
        */*.so*) install -m 644 "$library" "$root/usr/lib/x86_64-linux-gnu/" ;;
    esac
    package=$({ dpkg -S "$library" "$(readlink -f "$library")" 2>/dev/null || true; } | sed 's/:.*//;q')
    terms=/usr/share/doc/$package/copyright
    if [ -f "$terms" ]; then install -D -m 644 "$terms" "$root$terms"; fi
done

blobs=$work/image/blobs/sha256
mkdir -p "$blobs"
# Moves a file among the blobs; sets `digest' and `size'.
blob() {
    digest=$(sha256sum "$1" | cut -d' ' -f1)
    size=$(stat -c %s "$1")
    mv "$1" "$blobs/$digest"
}
pack -C "$root" -cf "$work/layer" .
blob "$work/layer"
layer=$digest layer_size=$size
created=$(date -u -d "@$epoch" +%Y-%m-%dT%H:%M:%SZ)
cat > "$work/config" <<END
{"architecture":"amd64","os":"linux","created":"$created",
"config":{"Env":["PATH=/usr/bin","STATE_DIRECTORY=/var/lib/ferrovia"],
"Entrypoint":["/usr/bin/ferrovia"],"Cmd":["-c","/etc/ferrovia/startup.conf"],
"Volumes":{"/var/lib/ferrovia":{}},"Healthcheck":{"Test":["CMD","/usr/bin/fvctl","show","version"]}},
"rootfs":{"type":"layers","diff_ids":["sha256:$layer"]},
"history":[{"created":"$created","created_by":"tools/image.sh"}]}
END
blob "$work/config"
config=$digest config_size=$size
cat > "$work/manifest" <<END
{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json",
"config":{"mediaType":"application/vnd.oci.image.config.v1+json","digest":"sha256:$config","size":$config_size},
"layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar","digest":"sha256:$layer","size":$layer_size}]}
END
blob "$work/manifest"
echo '{"imageLayoutVersion":"1.0.0"}' > "$work/image/oci-layout"
cat > "$work/image/index.json" <<END
{"schemaVersion":2,"manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json",
"digest":"sha256:$digest","size":$size,"annotations":{"org.opencontainers.image.ref.name":"ferrovia:$version"}}]}
END
# The same for programs that know Docker's own form only.
cat > "$work/image/manifest.json" <<END
[{"Config":"blobs/sha256/$config","RepoTags":["ferrovia:$version"],"Layers":["blobs/sha256/$layer"]}]
END
mkdir -p "$(dirname "$file")"
pack -C "$work/image" -c . | gzip -9n > "$file"
