#!/bin/bash
# What a router costs that has nothing to do: the processor time of each of its threads with one
# interface of each kind up, and who wakes how often.
#
#   bench/idle.sh [SECONDS [KIND...]]     KIND: af_packet, tap, memif, vhost-user, af_xdp, loopback,
#                                         bond, pipe; all of them if none is named
#
# memif is a pair of interfaces that are connected with each other; the front end of vhost-user is
# DPDK's testpmd, stopped once it has connected (Debian: dpdk-dev). Runs in a network namespace of its
# own. Needs root. FERROVIA and FVCTL may name the programs.
set -eu
[ -n "${IDLE_ALONE:-}" ] || IDLE_ALONE=1 exec unshare --net "$0" "$@"
seconds=${1:-20}
shift || true
kinds=${*:-af_packet tap memif vhost-user af_xdp loopback bond pipe}
. "$(dirname "$0")/router.sh"
peer=

cleanup() {
    [ -z "$peer" ] || { kill -9 "$peer" && wait "$peer"; } 2>/dev/null || true
    [ -z "$router" ] || { kill "$router" && wait "$router"; } 2>/dev/null || true
    rm -rf "$work"
}
trap cleanup EXIT

tell() { ask "$work" "$@"; }
up() { tell "set interface state $1 up"; }
veth() { ip link add "$1" type veth peer name "$1p" && ip link set "$1" up && ip link set "$1p" up; }

start_router "$work"

for kind in $kinds; do
    case $kind in
    af_packet)
        veth idle0
        tell "create host-interface name idle0" > "$work/said"
        up host-idle0
        ;;
    tap)
        tell "create tap id 0 host-if-name idle1" > "$work/said"
        up tap0
        ;;
    memif)
        tell "create memif socket id 1 filename $work/m" > "$work/said"
        tell "create memif socket id 2 filename $work/m" > "$work/said"
        tell "create interface memif socket-id 1 id 0 master" > "$work/said"
        tell "create interface memif socket-id 2 id 0 slave" > "$work/said"
        up memif1/0
        up memif2/0
        ;;
    vhost-user)
        tell "create vhost-user socket $work/v server" > "$work/said"
        up VirtualEthernet0/0/0
        dpdk-testpmd -l 0,1 --no-huge -m 256 --no-pci --file-prefix "idle$$" \
            --vdev "net_virtio_user0,path=$work/v" -- --total-num-mbufs=16384 --stats-period=3600 > "$work/testpmd" 2>&1 < /dev/null &
        peer=$!
        for _ in $(seq 100); do grep -qs "Port statistics" "$work/testpmd" && break || sleep 0.1; done
        kill -STOP $peer 2>/dev/null || { cat "$work/testpmd" >&2; exit 1; }
        ;;
    af_xdp)
        veth idle2
        tell "create interface af_xdp host-if idle2 name xdp0" > "$work/said"
        up xdp0
        ;;
    loopback)
        tell "create loopback interface" > "$work/said"
        up loop0
        ;;
    bond)
        tell "create bond mode active-backup" > "$work/said"
        up BondEthernet0
        ;;
    pipe)
        tell "pipe create" > "$work/said"
        up pipe0
        ;;
    *) echo "no such kind: $kind" >&2; exit 1 ;;
    esac
done
sleep 5
tell "show interface" | awk '$3 == "up" || $3 == "down" { print "    " $1, $3 }'

# Name of each thread, nanoseconds that it has run, times that it slept.
threads() {
    for t in /proc/$router/task/*; do
        echo "$(cat $t/comm) $(cut -d ' ' -f 1 $t/schedstat) $(awk '/^voluntary/ { print $2 }' $t/status)"
    done
}
threads > "$work/before"
sleep "$seconds"
threads > "$work/after"
paste -d ' ' "$work/before" "$work/after" | awk -v s="$seconds" '
    { t = ($5 - $2) / 1e9 / s * 100; all += t; printf "    %-16s %6.3f %% of a core, %6.1f wake-ups a second\n", $1, t, ($6 - $3) / s }
    END { printf "idle: %.3f %% of a core\n", all }'
tell show runtime | awk '/process|Process/ && $3 > 0' | sed 's/^/    /'
