#!/bin/bash
# Packets to DPDK's testpmd and back, over memif, vhost-user or AF_XDP: how many pass without a loss,
# whether they come back as they went, and how long an echo takes.
#
#   bench/testpmd.sh KIND [PACKETS [RATE]]       KIND: memif, memif-slave, vhost-user, vhost-packed, af_xdp
#
# PACKETS go there and back, at RATE a second; without one at the highest rate of which nothing is
# lost, found by halving with a fiftieth of the packets, or as fast as both can. Needs root, testpmd (Debian: dpdk-dev), and a
# processor for each of the two programs. FERROVIA and FVCTL may name the programs.
set -eu
kind=${1:?memif, memif-slave, vhost-user, vhost-packed or af_xdp}
packets=${2:-10000000}
rate=${3:-}
. "$(dirname "$0")/router.sh"
peer=

cleanup() {
    [ -z "$peer" ] || { kill "$peer" 2>/dev/null && wait "$peer" 2>/dev/null; } || true
    [ -z "$router" ] || { kill "$router" 2>/dev/null && wait "$router" 2>/dev/null; } || true
    [ "$kind" != af_xdp ] || ip link del fvx0 2>/dev/null || true
    rm -rf "$work"
}
trap cleanup EXIT

tell() { ask "$work" "$@"; }
counted() { tell "show interface $1" | awk -v what="$2" 'index($0, what) { n = $NF } END { print n + 0 }'; }

start_router "$work"

case $kind in
memif*)
    name=memif1/0
    role=master theirs=slave
    [ "$kind" = memif ] || { role=slave theirs=master; }
    tell "create memif socket id 1 filename $work/m" > "$work/said"
    tell "create interface memif socket-id 1 $role ring-size 16384 hw-addr 02:00:00:00:00:aa" > "$work/said"
    # Its ring has 2^14 descriptors, like ours.
    vdev="net_memif,role=$theirs,socket=$work/m,socket-abstract=no,id=0,rsize=14,mac=02:00:00:00:00:02"
    ;;
vhost-*)
    name=VirtualEthernet0/0/0
    packed=0 option=
    [ "$kind" = vhost-user ] || { packed=1 option=packed; }
    tell "create vhost-user socket $work/v server hwaddr 02:00:00:00:00:aa $option" > "$work/said"
    vdev="net_virtio_user0,path=$work/v,packed_vq=$packed,queue_size=16384,mac=02:00:00:00:00:02"
    ;;
af_xdp)
    name=xdp0
    ip link add fvx0 type veth peer name fvx1
    ip link set fvx0 addrgenmode none up
    ip link set fvx1 addrgenmode none up
    tell "create interface af_xdp host-if fvx0 name xdp0 rx-queue-size 16384 tx-queue-size 16384" > "$work/said"
    vdev=net_af_xdp0,iface=fvx1
    ;;
*) echo "no such kind: $kind" >&2; exit 1 ;;
esac
tell "set interface state $name up"
tell "set interface promiscuous on $name"

# Starts testpmd with a forwarding mode. Its rings are small for AF_XDP whatever is asked for: it is
# not to wait for other processes of the machine.
start() {
    nice -n -20 dpdk-testpmd -l 0,1 --main-lcore 1 --no-huge -m 512 --no-pci --file-prefix "fv$$" --vdev "$vdev" -- \
        --forward-mode="$1" --port-topology=loop --total-num-mbufs=65536 --rxd=16384 --txd=16384 \
        -a --stats-period=3600 > "$work/testpmd" 2>&1 < /dev/null &
    peer=$!
    for _ in $(seq 300); do
        kill -0 $peer 2>/dev/null || { cat "$work/testpmd" >&2; exit 1; }
        tell show hardware-interfaces "$name" | awk -v n="$name" '$1 == n && $3 == "up" { up = 1 } END { exit !up }' \
            && grep -q "Port statistics\|packet forwarding" "$work/testpmd" && break || sleep 0.1
    done
    sleep 1
}
# The socket of a master that is killed stays, and keeps the next one from having it.
stop() { kill -9 $peer; wait $peer 2>/dev/null || true; peer=; sleep 1; [ "$kind" != memif-slave ] || rm -f "$work/m"; }

# A frame of 60 bytes, all of which are compared with what was sent.
frame="02 00 00 00 00 02 02 00 00 00 00 aa 08 00 45 00 00 2e 00 00 00 00 40 11 66 b9 0a 00 00 01 0a 00 00 02 00 01 00 02 00 1a 00 00"
for n in $(seq 0 17); do frame="$frame $(printf %02x "$n")"; done
hex=$(echo $frame | tr -d ' ')
# The classifier compares 16 bytes at a time: 48 from the start, 60 with what follows them masked.
mask=$(printf 'f%.0s' $(seq 120))$(printf '0%.0s' $(seq 8))
tell "create packet-generator interface pg0" > "$work/said"
tell "create packet-generator interface pg1" > "$work/said"
tell "set interface state pg0 up"
tell "set interface state pg1 up"
tell "set interface l2 xconnect pg0 $name"
tell "set interface l2 xconnect $name pg1"
tell "classify table mask hex $mask miss-next 0 acl-miss-next deny" > "$work/said"
tell "classify session acl-hit-next permit table-index 0 match hex ${hex}00000000" > "$work/said"
tell "set interface input acl intfc $name l2-table 0" > "$work/said"

# Sends $1 packets at rate $2; says how many came back as they went, how many otherwise, and the time.
send() {
    tell "clear interfaces"
    tell "clear errors"
    tell "packet-generator new { name s limit $1 rate $2 size 60-60 interface pg0 node ethernet-input data { hex 0x$hex } }" > "$work/said"
    local from=$(date +%s.%N)
    tell "packet-generator enable-stream s"
    sleep "$(awk "BEGIN { print $1 / $2 }")"
    while tell show packet-generator | grep -q " Yes "; do sleep 0.1; done
    took=$(echo "$(date +%s.%N) $from" | awk '{ print $1 - $2 }')
    local last=-1 now=0
    while [ "$now" != "$last" ]; do last=$now; sleep 0.3; now=$(counted $name "rx packets"); done
    sent=$(counted $name "tx packets")
    came=$now
    same=$(counted pg1 "tx packets")
    tell "packet-generator delete s"
}

start io
if [ -z "$rate" ]; then
    low=10000 high=10000
    trial=$((packets / 50))
    while send $trial $high && [ "$same" = $trial ] && [ $high -lt 16000000 ]; do
        low=$high high=$((high * 2))
    done
    [ "$same" != $trial ] || low=$high
    for _ in 1 2 3 4; do
        middle=$(((low + high) / 2))
        if send $trial $middle && [ "$same" = $trial ]; then low=$middle; else high=$middle; fi
    done
    rate=$low
fi
send "$packets" "$rate"
echo "$kind: $packets packets at $rate a second: $sent sent, $came back, $same of them as they went, in $took s"
tell show errors | awk 'NR > 1' | sed 's/^/    /'
[ "$kind" != af_xdp ] || for end in fvx0 fvx1; do
    echo "    $(cat /sys/class/net/$end/statistics/rx_dropped) found no room in the ring of $end"
done
stop

# Echoes, over IP.
tell "set interface input acl intfc $name l2-table 0 del" > "$work/said"
tell "set interface l3 $name"
tell "set interface ip address $name 10.9.0.1/24"
tell "set ip neighbor $name 10.9.0.2 02:00:00:00:00:02 static"
start icmpecho
tell "ping 10.9.0.2 source $name repeat 1000 interval 0.001" > "$work/ping" || true
awk -F 'time=' '/time=/ { split($2, t, " "); print t[1] }' "$work/ping" | sort -n | awk -v k="$kind" \
    '{ a[NR] = $1 } END { if (NR) print k ": " NR " echoes, of 1000: least " a[1] ", middle " a[int((NR + 1) / 2)] ", 99 of 100 below " a[int(NR * 0.99)] " ms" }'
tail -3 "$work/ping" | sed 's/^/    /'
