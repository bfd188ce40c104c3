#!/bin/bash
# Ferrovia between two hosts of this machine, beside the kernel's own forwarding in the same run: TCP
# of one stream and of four in both directions, and small UDP packets. Prints the median of each, and
# its share of the kernel's.
#
#   bench/kernel.sh [ROUNDS [SECONDS [KIND...]]]     KIND: af_packet, tap, af_xdp; all if none is named
#
# Each path has two hosts of its own, in network namespaces, and rounds take the paths in turns. Hosts of
# AF_XDP compute checksums themselves, as XDP programs get packets as they are on the wire. Needs root,
# iperf3, and ethtool for AF_XDP. FERROVIA and FVCTL may name the programs.
set -eu
rounds=${1:-3}
seconds=${2:-3}
shift $(($# < 2 ? $# : 2))
kinds=${*:-af_packet tap af_xdp}
. "$(dirname "$0")/router.sh"
routers=
spaces=

cleanup() {
    for p in $routers; do { kill "$p" && wait "$p"; } 2>/dev/null || true; done
    for s in $spaces; do
        ip netns pids "$s" | xargs -r kill -9 2>/dev/null || true
        ip netns del "$s" 2>/dev/null || true
    done
    rm -rf "$work"
}
trap cleanup EXIT

within() { ip netns exec "$@"; }
tell() { local kind=$1; shift; ask "$work/$kind" "$@" > "$work/said"; }

# Namespaces of a path: left host, router, right host.
spaces() {
    for side in l m r; do
        ip netns add "fvk-$1-$side"
        spaces="$spaces fvk-$1-$side"
        ip -n "fvk-$1-$side" link set lo up
    done
}
# Devices from both hosts to the router's namespace, addresses of the hosts.
wires() {
    local n=1
    for side in l r; do
        ip -n "fvk-$1-$side" link add eth0 type veth peer name "to-$side" netns "fvk-$1-m"
        ip -n "fvk-$1-$side" addr add "10.1.$n.2/24" dev eth0
        ip -n "fvk-$1-$side" link set eth0 up
        ip -n "fvk-$1-m" link set "to-$side" up
        ip -n "fvk-$1-$side" route add default via "10.1.$n.1"
        n=2
    done
}
# A router in the namespace of a path.
router() {
    start_router "$work/$1" ip netns exec "fvk-$1-m"
    routers="$routers $router"
}
addresses() {
    local kind=$1 n=1
    shift
    for interface in "$@"; do
        tell "$kind" "set interface ip address $interface 10.1.$n.1/24"
        tell "$kind" "set interface state $interface up"
        n=2
    done
}

set_up() {
    spaces "$1"
    case $1 in
    kernel)
        wires kernel
        ip -n fvk-kernel-m addr add 10.1.1.1/24 dev to-l
        ip -n fvk-kernel-m addr add 10.1.2.1/24 dev to-r
        within fvk-kernel-m sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward'
        ;;
    af_packet)
        wires af_packet
        router af_packet
        tell af_packet create host-interface name to-l
        tell af_packet create host-interface name to-r
        addresses af_packet host-to-l host-to-r
        ;;
    tap)
        router tap
        local n=1
        for side in l r; do
            tell tap "create tap id $n host-ns fvk-tap-$side host-if-name eth0 \
                host-ip4-addr 10.1.$n.2/24 host-ip4-gw 10.1.$n.1 gso gro-coalesce"
            n=2
        done
        addresses tap tap1 tap2
        ;;
    af_xdp)
        wires af_xdp
        for side in l r; do within "fvk-af_xdp-$side" ethtool -K eth0 tx off > "$work/said"; done
        router af_xdp
        tell af_xdp create interface af_xdp host-if to-l name left
        tell af_xdp create interface af_xdp host-if to-r name right
        addresses af_xdp left right
        ;;
    *) echo "no such kind: $1" >&2; exit 1 ;;
    esac
    within "fvk-$1-r" iperf3 -s -D > "$work/said"
    within "fvk-$1-l" ping -c 3 -i 0.2 -W 2 10.1.2.2 > "$work/said" || { cat "$work/said" >&2; exit 1; }
}

# The receiver's Mbit/s of a test.
tcp() {
    local kind=$1
    shift
    within "fvk-$kind-l" iperf3 -c 10.1.2.2 -t "$seconds" -f m "$@" 2>&1 | awk '
        /receiver/ { for (i = 2; i <= NF; i++) if ($i ~ /bits\/sec/) rate = $(i - 1) }
        END { print rate + 0 }'
}
# Packets a second that arrive, of as many as the sender can send.
udp() {
    within "fvk-$1-l" iperf3 -c 10.1.2.2 -t "$seconds" -u -b 0 -l 18 2>&1 | awk -v t="$seconds" '
        /receiver/ { for (i = 2; i <= NF; i++) if ($i ~ /^[0-9]+\/[0-9]+$/) { split($i, n, "/"); rate = (n[2] - n[1]) / t } }
        END { printf "%d\n", rate }'
}

for kind in kernel $kinds; do set_up "$kind"; done
for _ in $(seq "$rounds"); do
    for kind in kernel $kinds; do
        echo "$(tcp "$kind")" >> "$work/$kind.1"
        echo "$(tcp "$kind" -R)" >> "$work/$kind.2"
        echo "$(tcp "$kind" -P 4)" >> "$work/$kind.3"
        echo "$(tcp "$kind" -P 4 -R)" >> "$work/$kind.4"
        echo "$(udp "$kind")" >> "$work/$kind.5"
    done
done

median() { sort -n "$1" | awk '{ a[NR] = $1 } END { print a[int((NR + 1) / 2)] }'; }
test_names=("" "TCP, Mbit/s" "TCP back, Mbit/s" "4 TCP, Mbit/s" "4 TCP back, Mbit/s" "UDP of 18 bytes, packets/s")
printf '%-28s %10s' "" kernel
for kind in $kinds; do printf ' %18s' "$kind"; done
echo
for n in 1 2 3 4 5; do
    base=$(median "$work/kernel.$n")
    printf '%-28s %10s' "${test_names[$n]}" "$base"
    for kind in $kinds; do
        value=$(median "$work/$kind.$n")
        printf ' %10s (%5.2f)' "$value" "$(echo "$value $base" | awk '{ print ($2 > 0) ? $1 / $2 : 0 }')"
    done
    echo
done
