#!/usr/bin/env bash
# Ferrovia at work.
#
# As root: two network namespaces are hosts, a third holds the router with one AF_PACKET interface to
# each; they ping, run iperf3, and the router shows what it saw. Otherwise: the same router between
# two packet-generator interfaces, with a capture file in and one out.
# Everything is gone afterwards, also after Ctrl-C. FERROVIA_PROGRAMS names a folder with programs that
# are built already.
set -euo pipefail
cd "$(dirname "$0")/.."

name=fv$$
dir=$(mktemp -d "${TMPDIR:-/tmp}/ferrovia-demo.XXXXXX")
programs=$(realpath -m "${FERROVIA_PROGRAMS:-${CARGO_TARGET_DIR:-target}/release}")
router=
server=
failed=0

heading() { printf '\n\033[1m== %s\033[0m\n' "$*"; }
[[ -t 1 ]] || heading() { printf '\n== %s\n' "$*"; }

# Waits for the command after `seconds` to succeed.
await() {
    local seconds=$1
    shift
    for ((i = 0; i < seconds * 20; i++)); do
        "$@" &>/dev/null && return
        sleep 0.05
    done
    return 1
}

stop() {
    [[ -z $1 ]] && return
    kill "$1" 2>/dev/null || return 0
    await 5 bash -c "! kill -0 $1" || kill -9 "$1" 2>/dev/null || true
    wait "$1" 2>/dev/null || true
}

clean_up() {
    trap '' INT TERM HUP
    stop "$server"
    stop "$router"
    if [[ $(id -u) == 0 ]]; then
        for host in left right router; do
            ip netns del "$name-$host" 2>/dev/null || true
        done
    fi
    rm -rf "$dir"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

fvctl() { "$programs/fvctl" -s "$dir/cli.sock" "$@"; }

# Prints a command as typed, and what the router answers.
ask() {
    printf '\nvpp# %s\n' "$*"
    fvctl "$@"
}

# Starts the router with the commands of $dir/setup; the words are put before its command line.
start_router() {
    cat >"$dir/startup.conf" <<CONF
unix {
  nodaemon
  runtime-dir $dir
  cli-listen $dir/cli.sock
  log $dir/log
  startup-config $dir/setup
}
statseg { socket-name $dir/stats.sock }
socksvr { socket-name $dir/api.sock }
CONF
    printf 'startup.conf:\n\n'
    sed 's/^/    /' "$dir/startup.conf"
    printf '\n%s:\n\n' "$dir/setup"
    sed 's/^/    /' "$dir/setup"
    # Its own session: Ctrl-C at the prompt is not meant for it.
    setsid "$@" "$programs/ferrovia" -c "$dir/startup.conf" >"$dir/output" 2>&1 &
    router=$!
    if ! await 10 fvctl show version; then
        echo "the router did not start:" >&2
        cat "$dir/output" >&2
        exit 1
    fi
    # The socket answers before the last line of the set-up has been carried out.
    await 5 bash -c "'$programs/fvctl' -s '$dir/cli.sock' show interface | grep -q '$last'"
}

prompt() {
    if [[ -t 0 && -t 1 ]]; then
        heading "Your turn: commands to the router ('?' lists them, Ctrl-D ends the demo)"
        fvctl || true
    fi
}

# The same network for IPv4 and IPv6: hosts have address 2, the router 1.
make_hosts() {
    for host in left right router; do
        ip netns add "$name-$host"
        ip -n "$name-$host" link set lo up
    done
    local number=1
    for host in left right; do
        ip -n "$name-router" link add "$host" type veth peer name eth0 netns "$name-$host"
        # The kernel's own IPv6 keeps out of the router's devices.
        ip -n "$name-router" link set "$host" addrgenmode none
        ip -n "$name-router" link set "$host" up
        ip -n "$name-$host" link set eth0 up
        ip -n "$name-$host" addr add "10.1.$number.2/24" dev eth0
        ip -n "$name-$host" addr add "2001:db8:$number::2/64" dev eth0 nodad
        ip -n "$name-$host" route add default via "10.1.$number.1"
        ip -n "$name-$host" -6 route add default via "2001:db8:$number::1"
        number=$((number + 1))
    done
}

ping_right() {
    printf '\nleft$ ping %s\n' "$1"
    ip netns exec "$name-left" ping -n -c 5 -i 0.2 -W 2 "$1" || failed=1
}

# iperf3 from left to right; prints the summary.
iperf_right() {
    printf '\nleft$ iperf3 %s\n' "$*"
    ip netns exec "$name-left" iperf3 -f g -t 3 "$@" >"$dir/iperf" 2>&1 || failed=1
    grep -E 'sender|receiver|error' "$dir/iperf" || true
}

two_hosts() {
    heading "Two hosts in network namespaces, the router between them"
    make_hosts
    cat >"$dir/setup" <<'SETUP'
create host-interface name left
create host-interface name right
set interface state host-left up
set interface state host-right up
set interface ip address host-left 10.1.1.1/24
set interface ip address host-right 10.1.2.1/24
set interface ip address host-left 2001:db8:1::1/64
set interface ip address host-right 2001:db8:2::1/64
SETUP
    last=host-right
    start_router ip netns exec "$name-router"

    heading "ping: the first echo is answered, although nobody knows a MAC address yet"
    ping_right 10.1.2.2
    ping_right 2001:db8:2::2

    heading "iperf3: TCP with offloads on, and UDP"
    setsid ip netns exec "$name-right" iperf3 -s >"$dir/server" 2>&1 &
    server=$!
    await 5 grep -q listening "$dir/server" || true
    iperf_right -c 10.1.2.2
    iperf_right -c 2001:db8:2::2
    iperf_right -c 10.1.2.2 -u -b 1G

    heading "What the router counted"
    ask show interface
    ask show runtime
    ask show errors

    heading "One packet's way through the graph"
    fvctl trace add af-packet-input 1
    ip netns exec "$name-left" ping -n -c 1 -W 2 10.1.2.2 >"$dir/ping" || failed=1
    ask show trace max 1
}

capture_file() {
    heading "Not root: a capture file through the router, between two packet-generator interfaces"
    cat >"$dir/setup" <<SETUP
create packet-generator interface pg0
create packet-generator interface pg1
set interface mac address pg0 02:00:00:00:00:aa
set interface state pg0 up
set interface state pg1 up
set interface ip address pg0 10.0.0.1/24
set interface ip address pg1 10.0.1.1/24
set interface ip address pg0 2001:db8::1/64
set interface ip address pg1 2001:db8:1::1/64
set ip neighbor pg1 10.0.1.2 02:00:00:00:00:bb static
set ip neighbor pg1 2001:db8:1::2 02:00:00:00:00:bb static
ip route add 16.0.0.0/8 via 10.0.1.2 pg1
ip route add 2001:db8:ff::/48 via 2001:db8:1::2 pg1
packet-generator capture pg1 pcap $dir/out.pcap
packet-generator new pcap $PWD/tests/pcap/routed.pcap source pg0 name in
SETUP
    last=pg1
    start_router env

    heading "tests/pcap/routed.pcap in at pg0, out at pg1"
    fvctl trace add pg-input 1
    fvctl packet-generator enable
    await 5 bash -c "! '$programs/fvctl' -s '$dir/cli.sock' show packet-generator | grep -q Yes" ||
        failed=1
    fvctl packet-generator capture pg1 pcap "$dir/out.pcap" disable
    if command -v tshark >/dev/null; then
        tshark -n -r "$dir/out.pcap" 2>/dev/null || failed=1
    else
        ls -l "$dir/out.pcap" || failed=1
    fi

    heading "What the router counted"
    ask show interface
    ask show runtime
    ask show errors

    heading "One packet's way through the graph"
    ask show trace max 1
}

if [[ -z ${FERROVIA_PROGRAMS:-} ]]; then
    heading "Building"
    cargo build --release -p ferrovia -p fvctl
fi

if [[ $(id -u) == 0 ]]; then
    two_hosts
else
    capture_file
fi
prompt

if ((failed)); then
    echo "something above did not work" >&2
    exit 1
fi
