#!/bin/sh
# Sees to it that what `make` needs is there: installs missing Debian packages when run as root.
#
# Only cargo and a C linker are indispensable; without the rest the tests that need it are skipped.
set -eu

say() { echo "ferrovia: $*" >&2; }

PATH="${HOME:-/root}/.cargo/bin:$PATH"
if ! command -v cargo >/dev/null; then
    say "cargo is missing: install Rust 1.95 or newer (with rustfmt and clippy), then run make again"
    exit 1
fi

# command:package
missing=
for pair in cc:gcc ip:iproute2 ping:iputils-ping iperf3:iperf3 tshark:tshark setsid:util-linux; do
    command -v "${pair%%:*}" >/dev/null || missing="$missing ${pair##*:}"
done
[ -f /usr/include/stdlib.h ] || missing="$missing libc6-dev"
python3 -c 'import ensurepip' 2>/dev/null || missing="$missing python3-venv"
[ -z "$missing" ] && exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    say "installing$missing"
    export DEBIAN_FRONTEND=noninteractive
    # shellcheck disable=SC2086 # a list of packages
    if apt-get -qq update >/dev/null &&
        apt-get -qq install --no-install-recommends $missing >/dev/null 2>&1; then
        exit 0
    fi
    say "apt-get could not install$missing"
else
    say "not root, so please install yourself: apt-get install$missing"
fi
command -v cc >/dev/null || exit 1
