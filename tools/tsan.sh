#!/usr/bin/env bash
# Tests in which threads read what others change, under ThreadSanitizer, which nightly Rust has.
# The standard library comes without it: what it does at the end of threads is left out.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! cargo +nightly --version >/dev/null 2>&1; then
    echo "ferrovia: ThreadSanitizer needs a nightly Rust: rustup toolchain install nightly" >&2
    exit 1
fi
host=$(rustc -vV | sed -n 's/^host: //p')
target=${CARGO_TARGET_DIR:-target}/tsan
export RUSTFLAGS="-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer"
export TSAN_OPTIONS="suppressions=$PWD/tools/tsan-suppressions.txt halt_on_error=1"

cargo +nightly test -p infra -p net --lib --target "$host" --target-dir "$target" -- \
    --test-threads 1 \
    rcu::tests ring::tests readers_see_old_or_new fib::tests::concurrent
