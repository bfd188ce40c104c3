# Everything a fresh Debian machine lacks is installed on the way (see tools/setup.sh).

export PATH := $(HOME)/.cargo/bin:$(PATH)

.PHONY: build bench deb demo docs dpdk release test loom tsan fmt setup install clean

build: setup
	cargo build --release

# Two hosts talk through the router; without root a capture file is routed.
demo: setup
	tools/demo.sh

# Packet costs. BENCH="ip4-1 load" selects scenarios; see bench/README.md.
bench: build
	cargo run --release -q -p bench -- $(BENCH)

# Everything that has to pass before a change is merged.
test:
	@tools/setup.sh test
	tools/test.sh

# Models of shared data, in every order of the threads' steps: infra/src/sync.rs.
loom: setup
	RUSTFLAGS="--cfg loom" cargo test -p infra --lib --target-dir $${CARGO_TARGET_DIR:-target}/loom models

# Lookups while routes change, under ThreadSanitizer.
tsan: setup
	tools/tsan.sh

fmt:
	cargo fmt --all

# What the driver for DPDK's devices loads: drivers/README.md. DPDK's headers have to be there
# (Debian: libdpdk-dev).
dpdk: setup
	tools/dpdk.sh $${CARGO_TARGET_DIR:-target}

# The manual, read without a network: target/docs-site/index.html.
docs: setup
	tools/docs.sh

# The Debian package: docs/packaging.md.
deb: setup
	tools/package.sh

# Release files: package, tarball, image, notes, checksums: docs/packaging.md.
release: setup
	tools/release.sh

setup:
	@tools/setup.sh

# The programs, as far as they are built, with `vppctl' as a name of fvctl; and what plugins in files are
# built with: the header, the Rust crate, ferrovia-new-plugin. Nothing of this tree is needed then.
# PREFIX says where, DESTDIR stands before it.
PREFIX ?= /usr/local
PROGRAMS ?= $${CARGO_TARGET_DIR:-target}/release
SDK = $(PREFIX)/share/ferrovia/sdk
install:
	install -d $(DESTDIR)$(SDK) $(DESTDIR)$(PREFIX)/include $(DESTDIR)$(PREFIX)/bin
	cp -r sdk/Cargo.toml sdk/README.md sdk/include sdk/new-plugin sdk/src sdk/template $(DESTDIR)$(SDK)
	cp -r examples/nth_drop_c examples/nth_drop_rust docs/plugins.md $(DESTDIR)$(SDK)
	sed -i 's|"../../sdk"|"$(SDK)"|' $(DESTDIR)$(SDK)/nth_drop_rust/Cargo.toml
	sed -i 's|../../sdk|$(SDK)|' $(DESTDIR)$(SDK)/nth_drop_c/Makefile
	ln -sf ../share/ferrovia/sdk/include/ferrovia.h $(DESTDIR)$(PREFIX)/include/ferrovia.h
	ln -sf ../share/ferrovia/sdk/new-plugin $(DESTDIR)$(PREFIX)/bin/ferrovia-new-plugin
	for program in ferrovia fvctl; do file=$(PROGRAMS)/$$program; \
	  if [ -x $$file ]; then install -m 755 $$file $(DESTDIR)$(PREFIX)/bin; fi; done
	ln -sf fvctl $(DESTDIR)$(PREFIX)/bin/vppctl

clean:
	cargo clean
