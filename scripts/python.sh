#!/usr/bin/env bash
# Tests the Python package: the functions by pytest, the types by mypy and pyright, the stubs by
# stubtest. The stub has to be the one that the extension's types make.
# Everything is put into the target folder: a virtual environment, and a package of links.
#
# Usage: python.sh [PYTEST-ARGUMENT...]; PYTHON names the interpreter (python3), and
# BROADLEAF_EXTENSION an extension that is built already, with the feature `stubs`.
set -euo pipefail
[ -z "${BROADLEAF_EXTENSION:-}" ] || BROADLEAF_EXTENSION=$(realpath -e "$BROADLEAF_EXTENSION")
cd "$(dirname "$0")/.."

target=${CARGO_TARGET_DIR:-target}
mkdir -p "$target"
target=$(cd "$target" && pwd)
python=${PYTHON:-python3}
venv=$target/python-venv
package=$target/python

if [ -z "${BROADLEAF_EXTENSION:-}" ]; then
  cargo build --profile checked --locked --workspace --lib --features broadleaf-python/stubs
  BROADLEAF_EXTENSION=$target/checked/lib_broadleaf.so
fi
export BROADLEAF_EXTENSION

# The environment is made again if the list of its packages changed.
tests=$("$python" - <<'END'
import tomllib
with open("pyproject.toml", "rb") as file:
    print(*tomllib.load(file)["project"]["optional-dependencies"]["test"])
END
)
list="$("$python" --version) $tests"
if [ "$(cat "$venv/packages" 2>/dev/null)" != "$list" ]; then
  rm -rf "$venv"
  "$python" -m venv "$venv"
  # shellcheck disable=SC2086 # A list of packages without spaces inside.
  "$venv/bin/pip" install --quiet --disable-pip-version-check $tests
  echo "$list" >"$venv/packages"
fi

rm -rf "$package"
mkdir -p "$package/broadleaf"
ln -s "$PWD"/python/broadleaf/* "$package/broadleaf/"
ln -s "$BROADLEAF_EXTENSION" "$package/broadleaf/_broadleaf.abi3.so"
export PYTHONPATH=$package PYTHONDONTWRITEBYTECODE=1

scripts/stubs.sh --check
"$venv/bin/python" -m pytest -p no:cacheprovider "$@"
[ $# -eq 0 ] || exit 0
"$venv/bin/mypy" --no-error-summary --cache-dir "$target/mypy"
MYPYPATH=python "$venv/bin/stubtest" --mypy-config-file pyproject.toml broadleaf._broadleaf
"$venv/bin/pyright" --pythonpath "$venv/bin/python" --warnings
