#!/usr/bin/env python3
"""Builds a guest that builds a Linux kernel: Debian's compiler, and the source of Debian's kernel.

The source is configured on this machine (tinyconfig), so that the guest only builds it:

    workloads/guest/kernel.py out/kernel
    broadleaf record --engine qemu-system --guest out/kernel --guest-memory 2G -o kernel.bl -- \\
      make -C /src vmlinux

Needs bc, bison, flex, make and xz besides what build.py needs (scripts/setup.sh guest).
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import tempfile

import build

SOURCE_PACKAGE = "linux-source-6.1"
# Folders of which the configuration compiles nothing. Their files of the build system stay.
LEFT_OUT = [
    "Documentation", "samples", "sound", "tools/perf", "tools/testing", "drivers/gpu",
    "drivers/infiniband", "drivers/media", "drivers/net", "drivers/scsi", "drivers/staging",
]
KEPT_FILES = ("Makefile", "Kbuild", "Kconfig")
PROGRAMS = [
    "make", "gcc", "as", "ld", "ar", "nm", "objcopy", "objdump", "strip", "readelf", "bc", "find",
    "xargs",
]
# The place of the source in the guest.
PLACE = "/src"


def source_tree(folder, package):
    """Unpacks the kernel's source, from a package or a fresh download. Returns its folder."""
    debs = [pathlib.Path(package).resolve()] if package else []
    if not debs:
        build.run("apt-get", "download", SOURCE_PACKAGE, cwd=folder, stderr=subprocess.STDOUT)
        debs = list(folder.glob(f"{SOURCE_PACKAGE}_*.deb"))
    build.run("dpkg-deb", "-x", str(debs[0]), str(folder / "package"))
    archives = list((folder / "package/usr/src").glob("linux-source-*.tar.xz"))
    if not archives:
        build.fail(f"{debs[0]} holds no usr/src/linux-source-*.tar.xz")
    build.run("tar", "-xf", str(archives[0]), "-C", str(folder))
    return folder / archives[0].name.removesuffix(".tar.xz")


def prune(tree):
    """Removes what this kernel does not need: other processors, and LEFT_OUT."""
    for arch in (tree / "arch").iterdir():
        if arch.is_dir() and arch.name not in ("x86", "um"):
            shutil.rmtree(arch)
    for name in LEFT_OUT:
        for folder, _, files in os.walk(tree / name):
            for file in files:
                if not file.startswith(KEPT_FILES):
                    os.remove(os.path.join(folder, file))


def add_compiler(asked):
    """Adds what gcc needs to compile and link, beside its own program."""
    for what in ("prog-name=cc1", "prog-name=collect2", "file-name=liblto_plugin.so"):
        asked.file.append(build.run("gcc", f"-print-{what}", text=True).strip())
    version = build.run("gcc", "-dumpversion", text=True).strip()
    asked.package += ["libc6-dev", "linux-libc-dev", f"libgcc-{version}-dev", "libgcc-s1"]


def main():
    """Builds the guest."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    build.add_options(parser)
    parser.add_argument("--source", metavar="DEB",
        help=f"take the source from this package of {SOURCE_PACKAGE}, and download none")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        tree = source_tree(pathlib.Path(work), asked.source)
        make = ["make", "-C", str(tree), f"-j{os.cpu_count()}", "ARCH=x86"]
        build.run(*make, "tinyconfig", stderr=subprocess.STDOUT)
        build.run(*make, "prepare", stderr=subprocess.STDOUT)
        prune(tree)
        asked.programs = PROGRAMS
        # The shell of busybox takes its own ar instead of the one of binutils.
        asked.file.append("/bin/dash=/bin/sh")
        add_compiler(asked)
        asked.tree.append(f"{tree}={PLACE}")
        build.build(asked)


if __name__ == "__main__":
    main()
