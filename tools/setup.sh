#!/bin/sh
# Sees to it that what `make` needs is there: installs missing Debian packages when run as root. With
# `test`, also the programs that tests have the router talk to, whose services are not started.
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
pairs="cc:gcc ip:iproute2 ping:iputils-ping iperf3:iperf3 tshark:tshark setsid:util-linux"
if [ "${1:-}" = test ]; then
    pairs="$pairs nft:nftables lldpd:lldpd ovs-vswitchd:openvswitch-switch bird:bird2 unbound:unbound
        /usr/lib/frr/bgpd:frr dpdk-testpmd:dpdk dnsmasq:dnsmasq-base dig:bind9-dnsutils
        traceroute:traceroute tcpdump:tcpdump openssl:openssl /usr/lib/ipsec/charon:strongswan-charon
        swanctl:strongswan-swanctl etcd:etcd-server etcdctl:etcd-client nginx:nginx-light
        ab:apache2-utils redis-server:redis-server sshd:openssh-server"
    # Plugins of strongSwan: its own ESP, elliptic curves and AES-GCM, and more algorithms.
    for pair in kernel-libipsec:libcharon-extra-plugins openssl:libstrongswan-standard-plugins \
        chapoly:libstrongswan-extra-plugins; do
        [ -f "/usr/lib/ipsec/plugins/libstrongswan-${pair%%:*}.so" ] ||
            pairs="$pairs /usr/lib/ipsec/plugins/$pair"
    done
fi
missing=
for pair in $pairs; do
    PATH="$PATH:/usr/sbin:/sbin" command -v "${pair%%:*}" >/dev/null || missing="$missing ${pair##*:}"
done
if [ "${1:-}" = test ]; then
    /usr/bin/python3 -c 'import scapy' 2>/dev/null || missing="$missing python3-scapy"
fi
[ -f /usr/include/stdlib.h ] || missing="$missing libc6-dev"
python3 -c 'import ensurepip' 2>/dev/null || missing="$missing python3-venv"
[ -z "$missing" ] && exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    say "installing$missing"
    export DEBIAN_FRONTEND=noninteractive
    # Tests start what they need themselves: no service of these packages is to run.
    policy=/usr/sbin/policy-rc.d
    if [ ! -e "$policy" ]; then
        trap 'rm -f "$policy"' EXIT
        printf '#!/bin/sh\nexit 101\n' > "$policy"
        chmod +x "$policy"
    fi
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
