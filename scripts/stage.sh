#!/usr/bin/env bash
# Puts everything that is installed into a folder, as below /usr: the program, manual pages, completions, the unit,
# rules, the files for Prometheus, Grafana and Kubernetes, and documents.
#
# Usage: stage.sh PROGRAM FOLDER TARGET
#   TARGET: Rust's name of the platform for which PROGRAM was built
set -euo pipefail
cd "$(dirname "$0")/.."
program=$1 stage=$2 target=$3

install -D -m 755 "$program" "$stage/bin/broadleaf"
"$program" man --output "$stage/share/man/man1"
completions() { # SHELL FILE
  mkdir -p "$(dirname "$stage/share/$2")"
  "$program" completions "$1" >"$stage/share/$2"
}
completions bash bash-completion/completions/broadleaf
completions zsh zsh/site-functions/_broadleaf
completions fish fish/vendor_completions.d/broadleaf.fish
install -D -m 644 -t "$stage/etc" packaging/broadleaf.toml
install -D -m 644 -t "$stage/lib/systemd/system" packaging/broadleaf.service
install -D -m 644 -t "$stage/share/broadleaf" \
  packaging/grafana-dashboard.json packaging/prometheus-alerts.yml packaging/prometheus-alerts-test.yml \
  packaging/kubernetes.yaml
install -D -m 644 -t "$stage/share/doc/broadleaf" README.md CHANGELOG.md GLOSSARY.md LIMITS.md
scripts/third-party.py "$target" >"$stage/share/doc/broadleaf/THIRD-PARTY"
