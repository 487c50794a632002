#!/usr/bin/env bash
# Checks that the requirements of a command are installed. If they are, it prints nothing and ends
# at once. As root on Debian, it installs missing packages. Otherwise it prints the install command,
# and exits with status 1.
#
# Usage: setup.sh NEED...
#   record: build Broadleaf and record programs · rust-tools: rustfmt and Clippy
#   tests: the programs that tests record, and a browser · python: Python 3.11 with venv
#   web: npm, which builds the report page
#   guest: QEMU, and what workloads/guest needs to build a guest
#   bench: the programs of benchmarks · fuzz: cargo-fuzz
#   dist: build packages · book: mdbook, which builds the book
#   paper, talluri, zhu: the programs that `paper` records (talluri: those of talluri1995, zhu: those
#   of zhu2018)
set -euo pipefail
cd "$(dirname "$0")/.."

missing=()

# need PACKAGE TEST...: the Debian package, and a test that succeeds if the package is installed.
need() {
  local package=$1
  shift
  "$@" >/dev/null 2>&1 || missing+=("$package")
}

# Succeeds if Node.js is there with npm, in a version that the report page's tools can use.
new_node() {
  local version
  version=$(node --version 2>/dev/null) && command -v npm >/dev/null || return 1
  version=${version#v}
  [ "${version%%.*}" -ge 20 ]
}

install_missing() {
  [ ${#missing[@]} -gt 0 ] || return 0
  local install=(apt-get install -y --no-install-recommends "${missing[@]}")
  if ! command -v apt-get >/dev/null; then
    echo "Missing, by their Debian names: ${missing[*]}. Please install them with this system's package manager." >&2
    exit 1
  elif [ "$(id -u)" -ne 0 ]; then
    echo "Missing: ${missing[*]}. Please run this, then try again:" >&2
    echo "  sudo apt-get update && sudo ${install[*]}" >&2
    exit 1
  fi
  echo "Installing ${missing[*]}" >&2
  local log
  log=$(mktemp)
  if ! { apt-get update && DEBIAN_FRONTEND=noninteractive "${install[@]}"; } >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    echo "The packages above could not be installed. This was tried: apt-get update && ${install[*]}" >&2
    exit 1
  fi
  rm -f "$log"
}

# Warns if a disk has less room than a command may need: on a full disk, recordings fail first.
# expect_room GIBIBYTES FOLDER
expect_room() {
  local free
  free=$(df --output=avail --block-size=1G "$2" 2>/dev/null | tail -n 1) || return 0
  if [ "${free:-$1}" -lt "$1" ]; then
    echo "Warning: ${free// /} GiB are free for $2, and up to $1 GiB may be needed." >&2
    echo "Recordings fail on a full disk." >&2
  fi
}

# Requires the toolchain of rust-toolchain.toml. rustup may be set not to install it automatically,
# or lack a component.
need_toolchain() {
  if ! command -v cargo >/dev/null; then
    echo "Rust is missing. Please install it as https://rustup.rs says, or with:" >&2
    echo "  curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y && . \"\$HOME/.cargo/env\"" >&2
    exit 1
  fi
  if "$@" >/dev/null 2>&1; then
    return 0
  elif command -v rustup >/dev/null; then
    local channel
    channel=$(sed -n 's/^channel = "\(.*\)"/\1/p' rust-toolchain.toml)
    rustup toolchain install "$channel" --profile minimal --component rustfmt --component clippy >&2
  fi
  "$@" >/dev/null || { echo "Rust is installed, but this fails: $*" >&2; exit 1; }
}

for what in "$@"; do
  case $what in
    record)
      need gcc command -v gcc
      need libc6-dev test -e /usr/include/stdlib.h
      # The package has the headers and the library that the recorder is compiled against.
      need valgrind eval 'command -v valgrind && test -e /usr/include/valgrind/pub_tool_basics.h'
      # The programs under which `record --engine qemu` runs a program. Nothing is compiled against
      # them.
      need qemu-user command -v qemu-x86_64
      ;;
    tests)
      mkdir -p "${CARGO_TARGET_DIR:-target}"
      expect_room 15 "${CARGO_TARGET_DIR:-target}"
      need sqlite3 command -v sqlite3
      # Allocators and servers whose switches are tried.
      need libjemalloc2 test -e /usr/lib/x86_64-linux-gnu/libjemalloc.so.2
      need redis-server command -v redis-server
      # A program of another processor is recorded.
      need gcc-aarch64-linux-gnu command -v aarch64-linux-gnu-gcc
      need libc6-dev-arm64-cross test -e /usr/aarch64-linux-gnu/lib/libc.a
      # The tests of the report page run where Node.js is new enough for its tools.
      if new_node; then
        need chromium eval 'command -v chromium || command -v chromium-browser || command -v google-chrome'
      fi
      ;;
    python)
      need python3 "${PYTHON:-python3}" -c 'import sys; sys.exit(sys.version_info < (3, 11))'
      # Debian splits the module venv off.
      need python3-venv "${PYTHON:-python3}" -c 'import ensurepip, venv'
      ;;
    guest)
      need qemu-system-x86 command -v qemu-system-x86_64
      need busybox-static eval 'busybox --help && ! ldd "$(command -v busybox)"'
      need gcc command -v gcc
      need libc6-dev test -e /usr/lib/x86_64-linux-gnu/libc.a
      need binutils command -v objcopy
      need lz4 command -v lz4
      need python3 command -v python3
      # workloads/guest/kernel.py
      need make command -v make
      need bison command -v bison
      need flex command -v flex
      need bc command -v bc
      need xz-utils command -v xz
      ;;
    web) need npm command -v npm ;;
    bench)
      need xz-utils command -v xz
      need gzip command -v gzip
      need python3 command -v python3
      need sqlite3 command -v sqlite3
      need redis-server command -v redis-server
      need redis-tools command -v redis-benchmark
      need libjemalloc2 test -e /usr/lib/x86_64-linux-gnu/libjemalloc.so.2
      ;;
    paper)
      need xz-utils command -v xz
      need python3 command -v python3
      need sqlite3 command -v sqlite3
      need ncompress command -v compress
      need ngspice command -v ngspice
      ;;
    talluri)
      need python3-numpy test -e /usr/lib/python3/dist-packages/numpy
      need zstd command -v zstd
      need xz-utils command -v xz
      need libfftw3-dev test -e /usr/include/fftw3.h
      need ngspice command -v ngspice
      need iverilog command -v iverilog
      need ocaml-interp command -v ocaml
      ;;
    zhu)
      need python3 command -v python3
      need xz-utils command -v xz
      need stockfish test -e /usr/games/stockfish
      need libsvm-tools command -v svm-train
      need redis-server command -v redis-server
      need redis-tools command -v redis-benchmark
      need postgresql eval 'test -d /usr/lib/postgresql && command -v psql'
      need default-jdk-headless command -v javac
      need libderby-java test -e /usr/share/java/derby.jar
      ;;
    dist)
      need debhelper command -v dh
      need bash-completion command -v dh_bash-completion
      need dpkg-dev command -v dpkg-shlibdeps
      need musl-tools command -v musl-gcc
      need python3 command -v python3
      ;;
    fuzz) need g++ command -v g++ ;;
    rust-tools | book) ;;
    *) echo "setup.sh: no such need: $what" >&2; exit 2 ;;
  esac
done
install_missing

for what in "$@"; do
  case $what in
    record | dist) need_toolchain cargo --version ;;
    book)
      need_toolchain cargo --version
      # Searching and serving a book take two thirds of mdbook's libraries.
      command -v mdbook >/dev/null || cargo install --locked --quiet --no-default-features mdbook
      ;;
    rust-tools) need_toolchain eval 'cargo fmt --version && cargo clippy --version' ;;
    fuzz)
      need_toolchain cargo --version
      if ! rustup run nightly cargo --version >/dev/null 2>&1; then
        command -v rustup >/dev/null || { echo "Fuzzing needs a nightly toolchain, which rustup installs." >&2; exit 1; }
        rustup toolchain install nightly --profile minimal >&2
      fi
      cargo fuzz --version >/dev/null 2>&1 || cargo install --locked --quiet cargo-fuzz
      ;;
  esac
done
