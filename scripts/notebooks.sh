#!/usr/bin/env bash
# Executes the notebooks of the book, and makes the book's pages of them. `scripts/python.sh` tests
# that they run; this script is for changes of a notebook or of what it prints.
#
# Usage: notebooks.sh [NAME...]
set -euo pipefail
cd "$(dirname "$0")/.."

# The environment, with the package.
scripts/python.sh --collect-only -q >/dev/null
target=${CARGO_TARGET_DIR:-target}
target=$(cd "$target" && pwd)
venv=$target/python-venv
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check "nbconvert>=7,<8"
export PYTHONPATH=$target/python
notebooks=$PWD/docs/book/notebooks
pages=$PWD/docs/book/src/notebooks
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$pages"
[ $# -gt 0 ] || set -- romer1995 talluri1995 navarro2002 zhu2018 chen2014
for name in "$@"; do
  mkdir "$folder/$name"
  cp "$notebooks/$name.ipynb" "$folder/$name/"
  (
    cd "$folder/$name"
    "$venv/bin/python" -m nbconvert --to notebook --execute --inplace \
      --ClearMetadataPreprocessor.enabled=True \
      --ClearMetadataPreprocessor.clear_notebook_metadata=False "$name.ipynb"
    "$venv/bin/python" - "$name.ipynb" <<'END'
import sys
import nbformat

# A report page is large, and a kept one would soon be another than the package's.
file = sys.argv[1]
notebook = nbformat.read(file, as_version=4)
for cell in notebook.cells:
    if cell.cell_type == "code":
        shown = lambda output: output.get("data", {}).get("text/html", "")
        cell.outputs = [one for one in cell.outputs if not shown(one).startswith("<iframe ")]
nbformat.write(notebook, file)
END
    "$venv/bin/python" -m nbconvert --to markdown "$name.ipynb"
  )
  cp "$folder/$name/$name.ipynb" "$notebooks/"
  rm -rf "${pages:?}/${name}_files"
  [ ! -d "$folder/$name/${name}_files" ] || cp -r "$folder/$name/${name}_files" "$pages/"
  cp "$folder/$name/$name.md" "$pages/$name.md"
done
