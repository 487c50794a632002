#!/usr/bin/env bash
# Builds what users install, into out/dist: a Debian package, a tarball with a static program, and their checksums.
# The tarball holds the Containerfile of an image.
set -euo pipefail
cd "$(dirname "$0")/.."
musl=x86_64-unknown-linux-musl
targets=${CARGO_TARGET_DIR:-$PWD/target}
version=$(cargo metadata --no-deps --locked --format-version=1 |
  python3 -c 'import json, sys; print(json.load(sys.stdin)["packages"][0]["version"])')

rm -rf out/dist
mkdir -p out/dist

# DEB_RULES_REQUIRES_ROOT: files of a package belong to root without a root who builds it.
DEB_RULES_REQUIRES_ROOT=no debian/rules clean
DEB_RULES_REQUIRES_ROOT=no debian/rules binary

if ! rustup target list --installed | grep -qx "$musl"; then
  rustup target add "$musl"
fi
cargo build --release --locked --bin broadleaf --target "$musl"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
stage=$work/broadleaf-$version
scripts/stage.sh "$targets/$musl/release/broadleaf" "$stage" "$musl"
cp packaging/Containerfile debian/copyright LICENSE-MIT LICENSE-APACHE "$stage"
# Equal sources give an equal tarball.
when=$(git log -1 --format=%ct 2>/dev/null || date +%s)
tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$when" -c "broadleaf-$version" |
  gzip -n9 >"out/dist/broadleaf-$version-x86_64-linux-musl.tar.gz"

cd out/dist
sha256sum -- * >SHA256SUMS
ls -lh
