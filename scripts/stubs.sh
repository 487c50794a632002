#!/usr/bin/env bash
# Writes the type stub of the extension from the Rust code: PyO3 puts the types of all functions and
# classes into a module that is built with the feature `stubs`, and its tool reads them.
#
# Usage: stubs.sh [--check]; with --check, it fails where the committed stub is another.
# BROADLEAF_EXTENSION names an extension that is built already, with that feature.
set -euo pipefail
[ -z "${BROADLEAF_EXTENSION:-}" ] || BROADLEAF_EXTENSION=$(realpath -e "$BROADLEAF_EXTENSION")
cd "$(dirname "$0")/.."

stub=python/broadleaf/_broadleaf.pyi
target=${CARGO_TARGET_DIR:-target}
mkdir -p "$target"
target=$(cd "$target" && pwd)

# The tool has the version of PyO3.
version=$(sed -n '/^name = "pyo3"$/{n;s/^version = "\(.*\)"$/\1/p}' Cargo.lock)
tools=$target/stubs-$version
if [ ! -x "$tools/bin/pyo3-introspection" ]; then
  cargo install --debug --quiet --locked --root "$tools" --target-dir "$target/stubs" \
    "pyo3-introspection@$version"
fi

if [ -z "${BROADLEAF_EXTENSION:-}" ]; then
  cargo build --profile checked --locked --quiet --workspace --lib --features broadleaf-python/stubs
  BROADLEAF_EXTENSION=$target/checked/lib_broadleaf.so
fi
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
"$tools/bin/pyo3-introspection" "$BROADLEAF_EXTENSION" _broadleaf "$made"
"${PYTHON:-python3}" scripts/stubs.py "$made/__init__.pyi" >"$made/stub.pyi"
if [ "${1:-}" != --check ]; then
  cp "$made/stub.pyi" "$stub"
elif ! diff -u "$stub" "$made/stub.pyi"; then
  echo "$stub is not what the Rust code says: run scripts/stubs.sh" >&2
  exit 1
fi
