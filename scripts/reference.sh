#!/usr/bin/env bash
# Writes the book's reference pages again from the catalogues: policies, machines, metrics, formats.
set -euo pipefail
cd "$(dirname "$0")/.."
BROADLEAF_UPDATE=1 cargo test --profile checked --quiet --package broadleaf-cli --test suite reference::
