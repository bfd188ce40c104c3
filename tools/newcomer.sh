#!/bin/bash
# A newcomer's path, and how long each part of it takes. Give it a quiet machine.
#
#   tools/newcomer.sh                           from the sources: `make demo' and `make test' in a clean clone
#                                               of this commit, with nothing downloaded or built; then sizes
#   tools/newcomer.sh PACKAGE.deb [FOLDER]      from the package: a fresh Debian, booted by systemd in a
#                                               container, does what docs/tasks/start.md says, with `reboot'
#                                               as well; root, systemd-nspawn, debootstrap, a mirror of Debian
#
# FOLDER keeps the fresh Debian for the next time.
set -euo pipefail

from_sources() {
    local work source
    source=$(readlink -f "$(dirname "$0")/..")
    work=$(mktemp -d)
    # shellcheck disable=SC2064 # this folder
    trap "rm -rf '$work'" EXIT
    echo "$(git -C "$source" describe --always --dirty), $(nproc) processors, load $(cut -d' ' -f1-3 /proc/loadavg)"
    git clone -q "$source" "$work/ferrovia"
    cd "$work/ferrovia"
    # The compiler stays, what it made and cargo downloaded does not.
    export RUSTUP_HOME=${RUSTUP_HOME:-$HOME/.rustup} CARGO_HOME=$work/cargo
    unset CARGO_TARGET_DIR FERROVIA_PROGRAMS
    TIMEFORMAT='%R s, of processors %U s and in the kernel %S s'
    local status=0
    for goal in demo test; do
        echo "make $goal"
        time make "$goal" </dev/null >"$work/$goal" 2>&1 || {
            tail -n 40 "$work/$goal"
            status=1
        }
        tail -n 1 "$work/$goal"
    done
    for program in ferrovia fvctl; do
        strip -o "$work/$program" "target/release/$program"
        echo "$program: $(stat -c %s "$work/$program") bytes stripped"
    done
    return $status
}

if [ $# = 0 ]; then
    from_sources
    exit
fi
package=$(readlink -f "$1")
fresh=${2:-}
cd "$(dirname "$0")/.."
work=$(mktemp -d)
leader=
leave() {
    [ -z "$leader" ] || kill "$leader" 2>/dev/null || true
    [ -z "$leader" ] || wait "$leader" 2>/dev/null || true
    rm -rf "$work"
}
trap leave EXIT
say() { printf '%7.1f s  %s\n' "$(echo "$(date +%s.%N) - $began" | bc)" "$*"; }
began=$(date +%s.%N)

if [ -z "$fresh" ] || [ ! -d "$fresh" ]; then
    fresh=${fresh:-$work/fresh}
    debootstrap --variant=minbase --include=systemd,systemd-sysv,dbus,iproute2,iputils-ping bookworm "$fresh" >"$work/debootstrap" ||
        { tail "$work/debootstrap"; exit 1; }
    say "a fresh Debian"
fi
cp -a "$fresh" "$work/debian"
root=$work/debian
cp "$package" "$root/srv/"

# Boots it; the number of its first process is that of the child that nspawn starts.
boot() {
    systemd-nspawn -q -D "$root" --machine=newcomer --register=no --keep-unit --private-network \
        --capability=CAP_NET_ADMIN,CAP_SYS_ADMIN,CAP_BPF,CAP_PERFMON --bind=/dev/net/tun --boot \
        --console=pipe >"$work/console" 2>&1 </dev/null &
    leader=$!
    for _ in $(seq 300); do
        inside=$(pgrep -P "$leader" -x systemd | head -1 || true)
        [ -n "$inside" ] && in_it systemctl is-system-running 2>/dev/null | grep -Eq 'running|degraded' && return
        sleep 0.2
    done
    tail "$work/console"
    exit 1
}
in_it() { nsenter -t "$inside" -m -u -i -n -p -C env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/srv "$@"; }

boot
say "booted"
in_it bash -c 'apt-get -q install -y --no-install-recommends /srv/*.deb' >"$work/apt" 2>&1 || { tail "$work/apt"; exit 1; }
say "installed"
in_it bash -c '[ -z "$(pidof ferrovia)" ] && [ "$(ls /sys/class/net)" = lo ]' || { echo "installing started something"; exit 1; }

# The page as a script: shell as it stands, commands by fvctl, what has to be printed.
awk '
    /^```/ && kind == "" { kind = substr($0, 4); if (kind == "") kind = "-"
        if (kind == "ferrovia") print "{ fvctl <<\"END\""; else if (kind ~ /^sh/) print "{"
        else if (kind == "text") print "contains <<\"END\""; next }
    /^```/ { if (kind == "ferrovia") print "END\n} >/srv/output"; else if (kind ~ /^sh/) print "} >/srv/output"
        else if (kind == "text") print "END"; kind = ""; next }
    kind != "" && kind !~ /^text|^-/ && /apt install/ { next }
    kind != "" && /^reboot$/ { print "exit 77"; next }
    kind != "" { print }' docs/tasks/start.md >"$work/page"
cat >"$root/srv/page" - "$work/page" <<'END'
set -euo pipefail
contains() {
    while read -r line; do
        tr -s ' ' </srv/output | grep -qF -- "$line" || { echo "no line '$line' in:"; cat /srv/output; exit 1; }
    done
}
END
status=0
in_it bash /srv/page || status=$?
[ $status = 77 ] || { echo "the page ends with $status before it reboots"; exit 1; }
say "routed, looked at, saved, restarted"
kill -s RTMIN+4 "$inside" 2>/dev/null || kill "$leader"
wait "$leader" || true
leader=
boot
say "rebooted"
sed '1,/^exit 77$/d' "$root/srv/page" >"$root/srv/rest"
sed -n '1,/^}$/p' "$root/srv/page" | cat - "$root/srv/rest" >"$root/srv/after"
# The line behind `reboot' closes its block.
sed -i '0,/^} >\/srv\/output$/{//d}' "$root/srv/after"
in_it bash /srv/after
say "routed again without a hand"
in_it systemd-analyze security ferrovia --no-pager | tail -1
in_it fvctl show logging | grep 'kept: '
in_it apt-get -q purge -y ferrovia >"$work/apt" 2>&1 || { tail "$work/apt"; exit 1; }
in_it bash -c '! ls -d /etc/ferrovia /var/lib/ferrovia /run/vpp 2>/dev/null && ! getent group ferrovia'
say "purged: nothing is left"
