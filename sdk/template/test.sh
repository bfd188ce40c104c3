#!/bin/sh
# Loads the plugin into a router of its own, sends packets through, looks at its counters and unloads
# it. FERROVIA and FVCTL say where the programs are.
set -eu
plugin=$(realpath "$1")
dir=$(mktemp -d)
cat > "$dir/startup.conf" <<END
unix { nodaemon runtime-dir $dir cli-listen $dir/cli.sock }
statseg { socket-name $dir/stats.sock }
socksvr { socket-name $dir/api.sock }
END
"${FERROVIA:-ferrovia}" -c "$dir/startup.conf" > "$dir/output" 2>&1 &
router=$!
trap 'kill $router 2>/dev/null; wait $router 2>/dev/null || true; rm -rf "$dir"' EXIT
cli() { "${FVCTL:-fvctl}" -s "$dir/cli.sock" "$@"; }
for _ in $(seq 100); do [ -S "$dir/cli.sock" ] && break; sleep 0.1; done

cli create packet-generator interface pg0
cli set interface state pg0 up
cli set interface ip address pg0 10.0.0.1/24
cli plugin load "$plugin"
cli set interface @DASHED@ pg0 on
cli "packet-generator new { name s limit 8 size 64-64 node ip4-input interface pg0 data \
    { UDP: 10.0.0.2 -> 10.0.0.9 UDP: 1 -> 2 incrementing 36 } }"
cli packet-generator enable-stream s
for _ in $(seq 50); do
    seen=$(cli show errors | grep -c "8 *@DASHED@-ip4 .*Packets seen" || true)
    [ "$seen" = 1 ] && break
    sleep 0.1
done
cli show errors
[ "$seen" = 1 ] || { echo "FAILED: the plugin has not seen the packets"; exit 1; }
cli plugin unload @NAME@
cli show plugins | grep -q "$plugin" && { echo "FAILED: the plugin is still there"; exit 1; }
echo "ok"
