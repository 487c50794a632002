# The commands. Each sets up what it needs first (scripts/setup.sh), and says what to do where it may not.

.DEFAULT_GOAL := help
.PHONY: help demo test check deep bench bench-live fuzz web book dist

# Where Cargo puts what it builds.
TARGET := $(or $(CARGO_TARGET_DIR),target)
# How long `make fuzz` fuzzes each target.
FUZZ_SECONDS ?= 60
export FUZZ_SECONDS

# Lints of all crates and of the fuzz targets. Checking links nothing, so the fuzzer's own library need not be
# built, which would take a C++ compiler.
CLIPPY := CUSTOM_LIBFUZZER_PATH=/nowhere/libfuzzer.a \
	cargo clippy --profile checked --workspace --all-targets --locked \
	--features broadleaf-fuzz/libfuzzer,broadleaf-python/stubs -- -D warnings

# What `make test` builds, once: the command, the tests, and the Python extension with the types of its
# functions. The profile is in Cargo.toml.
CHECKED := --profile checked --workspace --features broadleaf-python/stubs --locked
BUILT := $(abspath $(TARGET))/checked

# Modules that a catalogue declares by a macro: `cargo fmt` does not find them.
FMT_CHECK := find crates/*/src -name '*.rs' -exec rustfmt --check --edition 2024 {} +

help:
	@echo 'make demo    record a real program, compare the page-size policies, say which to choose'
	@echo 'make test    everything that must hold: format, lints, layers, tests, documents, Python, book'
	@echo 'make check   the quick part of it: format, lints, layers'
	@echo 'make web     build the report page of web/ into web/dist, which is committed (needs npm)'
	@echo 'make deep    run the scripts of hard use in tests/hard (long)'
	@echo 'make bench   run the benchmarks and write out/bench-YYYY-MM-DD.md'
	@echo 'make bench-live  the governor on live programs, beside the same without it; writes out/bench-live-YYYY-MM-DD.md'
	@echo 'make book    build the book as HTML in docs/book/build, and check its links'
	@echo 'make dist    build a Debian package and a tarball with a static program, in out/dist'
	@echo 'make fuzz    fuzz the readers and the replay, FUZZ_SECONDS (60) each; memory: 10^6 operations'

demo:
	@scripts/setup.sh record
	cargo build --release --locked --bin broadleaf
	@$(TARGET)/release/broadleaf demo

test:
	@scripts/setup.sh record rust-tools tests python
	cargo fmt --all --check
	@$(FMT_CHECK)
	$(CLIPPY)
	cargo build $(CHECKED) --lib --bins --tests --examples
	BROADLEAF=$(BUILT)/broadleaf BROADLEAF_GUARDED=$(BUILT)/broadleaf-guarded cargo test $(CHECKED)
	@BROADLEAF=$(BUILT)/broadleaf BROADLEAF_EXTENSION=$(BUILT)/lib_broadleaf.so scripts/python.sh
	@scripts/setup.sh book
	@scripts/book.sh

check:
	@scripts/setup.sh rust-tools
	cargo fmt --all --check
	@$(FMT_CHECK)
	$(CLIPPY)
	cargo test --profile checked --locked --quiet -p broadleaf-layers

web:
	@scripts/setup.sh web
	cd web && npm ci && npm run build

deep:
	@scripts/setup.sh record tests
	cargo build --release --locked --bin broadleaf
	@BROADLEAF=$(abspath $(TARGET))/release/broadleaf tests/hard/run

bench:
	@scripts/setup.sh record bench
	cargo build --release --locked --bin broadleaf --bin broadleaf-bench
	cargo bench --locked --package broadleaf-bench --no-run
	@PATH="$(abspath $(TARGET))/release:$$PATH" scripts/bench.sh

bench-live:
	@scripts/setup.sh record bench
	cargo build --release --locked --bin broadleaf
	@PATH="$(abspath $(TARGET))/release:$$PATH" scripts/bench.sh live

fuzz:
	@scripts/setup.sh fuzz
	@scripts/fuzz.sh

book:
	@scripts/setup.sh book
	@scripts/book.sh

dist:
	@scripts/setup.sh record dist
	@scripts/dist.sh
