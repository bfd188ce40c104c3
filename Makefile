# Everything a fresh Debian machine lacks is installed on the way (see tools/setup.sh).

export PATH := $(HOME)/.cargo/bin:$(PATH)

.PHONY: build bench demo test loom tsan fmt setup clean

build: setup
	cargo build --release

# Two hosts talk through the router; without root a capture file is routed.
demo: setup
	tools/demo.sh

# What packets cost. BENCH="ip4-1 load" chooses; see bench/README.md.
bench: build
	cargo run --release -q -p bench -- $(BENCH)

# All that has to be green before a change goes in.
test: setup
	tools/test.sh

# Every order of the steps of threads that share something: infra/src/sync.rs.
loom: setup
	RUSTFLAGS="--cfg loom" cargo test -p infra --lib --target-dir $${CARGO_TARGET_DIR:-target}/loom models

# Lookups while routes change, under ThreadSanitizer.
tsan: setup
	tools/tsan.sh

fmt:
	cargo fmt --all

setup:
	@tools/setup.sh

clean:
	cargo clean
