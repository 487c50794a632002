#!/usr/bin/env bash
# Builds the book as HTML in docs/book/build, and checks that each link leads to a file and a section of it.
set -euo pipefail
cd "$(dirname "$0")/.."
mdbook build docs/book --dest-dir "$PWD/docs/book/build"
scripts/html-links.py docs/book/build
