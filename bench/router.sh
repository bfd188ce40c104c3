# What the scripts of this folder have in common, read by them: the programs, a folder for their
# files, and how a router starts. FERROVIA, FVCTL: programs other than those of target/release.
here=$(cd "$(dirname "$0")/.." && pwd)
ferrovia=${FERROVIA:-$here/target/release/ferrovia}
fvctl=${FVCTL:-$here/target/release/fvctl}
work=$(mktemp -d)
router=

# A command of the router whose files are in a folder.
ask() { local at=$1; shift; "$fvctl" -s "$at/cli.sock" "$@"; }

# Starts a router with its files in a folder, by a command in front of it if there is one; its
# process is $router.
start_router() {
    local at=$1
    shift
    mkdir -p "$at"
    cat > "$at/conf" <<END
unix { nodaemon runtime-dir $at cli-listen $at/cli.sock log $at/log }
statseg { socket-name $at/stats.sock }
socksvr { socket-name $at/api.sock }
END
    "$@" "$ferrovia" -c "$at/conf" > "$at/output" 2>&1 &
    router=$!
    for _ in $(seq 100); do ask "$at" show version > "$at/said" 2>&1 && break || sleep 0.1; done
}
