#!/usr/bin/env bash
# Tests in which threads read what others change, under ThreadSanitizer: an option for nightly Rust,
# which any Rust that comes with its runtime takes when told so. The standard library comes without
# it: what that does at the end of threads is left out.
set -euo pipefail
cd "$(dirname "$0")/.."

export RUSTC_BOOTSTRAP=1
host=$(rustc -vV | sed -n 's/^host: //p')
target=${CARGO_TARGET_DIR:-target}/tsan
runtime=$(rustc --print target-libdir)
if ! compgen -G "$runtime/*_rt.tsan*" >/dev/null; then
    echo "ferrovia: this Rust has no runtime of ThreadSanitizer in $runtime; those of rustup have" >&2
    exit 1
fi
export RUSTFLAGS="-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer"
export TSAN_OPTIONS="suppressions=$PWD/tools/tsan-suppressions.txt halt_on_error=1"

cargo test -p infra -p net --lib --target "$host" --target-dir "$target" -- \
    --test-threads 1 \
    rcu::tests ring::tests bytes_come_as_they_were_sent readers_see_old_or_new fib::tests::concurrent
