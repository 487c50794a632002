#!/usr/bin/env python3
"""Prints the crates that are linked into `broadleaf`, with their licenses and notices.

Usage: third-party.py [TARGET]
"""

import json
import pathlib
import subprocess
import sys

NOTICES = ("LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE")


def metadata(target):
    command = ["cargo", "metadata", "--locked", "--format-version=1", f"--filter-platform={target}"]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def linked(found):
    """The packages that the command's crate needs at run time, itself and the workspace left out."""
    nodes = {node["id"]: node for node in found["resolve"]["nodes"]}
    packages = {package["id"]: package for package in found["packages"]}
    own = set(found["workspace_members"])
    todo = [name for name in own if packages[name]["name"] == "broadleaf-cli"]
    seen = set()
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        for dependency in nodes[name]["deps"]:
            # A dependency for tests alone, or of a build script, is not linked.
            if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                todo.append(dependency["pkg"])
    return sorted((packages[name] for name in seen - own), key=lambda p: (p["name"], p["version"]))


def notices(package):
    folder = pathlib.Path(package["manifest_path"]).parent
    files = (file for file in folder.iterdir() if file.name.upper().startswith(NOTICES))
    for file in sorted(file for file in files if file.is_file()):
        yield file.read_text(errors="replace").strip()


def main():
    target = sys.argv[1] if len(sys.argv) > 1 else "x86_64-unknown-linux-gnu"
    texts = {}
    print("The crates that are linked into broadleaf:\n")
    for package in linked(metadata(target)):
        title = f"{package['name']} {package['version']}"
        print(f"  {title}: {package['license'] or 'see its notices'}")
        for text in notices(package):
            texts.setdefault(text, []).append(title)
    for text, titles in texts.items():
        print(f"\n{'=' * 78}\n{', '.join(titles)}\n{'=' * 78}\n\n{text}")


main()
