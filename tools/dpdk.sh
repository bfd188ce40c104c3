#!/bin/sh
# Builds ferrovia_dpdk.so, which the driver for DPDK's devices loads, into the folder $1.
set -eu

folder=$(readlink -f "$1")
cd "$(dirname "$0")/../drivers/dpdk"
if ! pkg-config --exists 'libdpdk >= 22.11'; then
    echo "ferrovia: DPDK 22.11 or newer is missing (Debian: apt-get install libdpdk-dev)" >&2
    exit 1
fi
mkdir -p "$folder"
# shellcheck disable=SC2046 # lists of options
${CC:-cc} -std=gnu11 -O3 -Wall -Wextra -fPIC -shared -fvisibility=hidden \
    $(pkg-config --cflags libdpdk) shim.c -o "$folder/ferrovia_dpdk.so" $(pkg-config --libs libdpdk)
