#!/usr/bin/env python3
"""Builds a guest for `broadleaf record --engine qemu-system` from Debian's packages, without root.

The folder gets the kernel, an initial file system with busybox and the programs that are named, and
a file of the kernel's addresses that the recorder needs with QEMU 7.2.
"""

import argparse
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
KERNEL_PACKAGE = "linux-image-cloud-amd64"
# The kernel's names whose addresses the recorder uses.
NAMES = [
    "__per_cpu_offset",
    "cpu_tlbstate",
    "init_top_pgt",
    "switch_mm_irqs_off",
    "handle_mm_fault",
    "asm_exc_page_fault",
    "phys_base",
]
FIELDS = [
    ("mm_struct", "pgd"),
    ("mm_struct", "context"),
    ("mm_struct", "owner"),
    ("mm_struct", "mm_users"),
    ("task_struct", "tgid"),
    ("task_struct", "comm"),
]


def fail(why):
    """Ends with a reason."""
    sys.exit(f"build.py: {why}")


def run(*command, **options):
    """Runs a command that must succeed, and returns its output."""
    try:
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, **options).stdout
    except FileNotFoundError:
        fail(f"{command[0]} is missing: scripts/setup.sh guest installs what is needed")
    except subprocess.CalledProcessError as error:
        output = error.output if isinstance(error.output, str) else error.output.decode()
        print(output[-2000:], end="", file=sys.stderr)
        fail(f"{' '.join(map(str, command))} failed with status {error.returncode}")


def kernel_image(folder, package):
    """Unpacks the kernel's package, which is not installed. Returns the path of its image."""
    debs = [pathlib.Path(package).resolve()] if package else []
    if not debs:
        words = run("apt-cache", "depends", KERNEL_PACKAGE, text=True).split()
        names = [word for word in words if re.fullmatch(r"linux-image-[0-9].*", word)]
        if not names:
            fail(f"apt knows no kernel of {KERNEL_PACKAGE}: run apt-get update first")
        run("apt-get", "download", names[0], cwd=folder, stderr=subprocess.STDOUT)
        debs = list(pathlib.Path(folder).glob("linux-image-*.deb"))
    run("dpkg-deb", "-x", str(debs[0]), f"{folder}/kernel")
    images = list(pathlib.Path(folder).glob("kernel/boot/vmlinuz-*"))
    if not images:
        fail(f"{debs[0]} holds no boot/vmlinuz")
    return images[0]


def kernel_module(folder, release, packages):
    """Builds the module that emits kernel events, with the headers of a kernel's packages, none of
    which is installed. Returns the path of the module."""
    root = folder / "headers"
    names = [f"linux-headers-{release}"]
    if not packages:
        words = run("apt-cache", "depends", names[0], text=True).split()
        names += [word for word in words if re.fullmatch(r"linux-(headers|kbuild)-\S+", word)]
        run("apt-get", "download", *dict.fromkeys(names), cwd=folder, stderr=subprocess.STDOUT)
        packages = [*folder.glob("linux-headers-*.deb"), *folder.glob("linux-kbuild-*.deb")]
    for package in packages:
        run("dpkg-deb", "-x", str(package), str(root))
    headers = root / "usr/src" / names[0]
    if not (headers / "Makefile").is_file():
        fail(f"no package holds /usr/src/{names[0]}: --headers needs the headers of the kernel")
    makefile = (headers / "Makefile").read_text()
    (headers / "Makefile").write_text(makefile.replace("/usr/src/", f"{root}/usr/src/"))
    shutil.copytree(HERE / "events", folder / "events")
    run("make", "-C", str(headers), f"M={folder}/events", "modules", stderr=subprocess.STDOUT)
    module = folder / "events/broadleaf_events.ko"
    run("strip", "--strip-debug", str(module))
    return module


def type_information(image, folder):
    """The BTF section of a kernel whose image is compressed with LZ4."""
    data = image.read_bytes()
    at = data.find(b"\x02\x21\x4c\x18")
    if at < 0:
        fail(f"{image.name} is not compressed with LZ4")
    (folder / "packed").write_bytes(data[at:])
    with open(folder / "packed", "rb") as packed, open(folder / "vmlinux", "wb") as whole:
        # Bytes follow the compressed kernel, so lz4 ends with an error after it.
        subprocess.run(["lz4", "-dc"], stdin=packed, stdout=whole, stderr=subprocess.DEVNULL)
    vmlinux = folder / "vmlinux"
    run("objcopy", "--dump-section", f".BTF={folder}/btf", str(vmlinux), f"{folder}/rest")
    return (folder / "btf").read_bytes()


def field_offsets(btf):
    """The offsets in bytes of FIELDS, by "structure.field"."""
    _, _, _, header, types_at, types, texts_at, _ = struct.unpack_from("<HBBIIIII", btf)
    text = header + texts_at

    def name(offset):
        return btf[text + offset : btf.index(b"\0", text + offset)].decode()

    # Bytes after each type: a constant, or so many for each of its members.
    after = {1: 4, 3: 12, 14: 4, 17: 4}
    each = {4: 12, 5: 12, 6: 8, 13: 8, 15: 12, 19: 12}
    found, at, end = {}, header + types_at, header + types_at + types
    while at < end:
        name_at, info, _ = struct.unpack_from("<III", btf, at)
        kind, members = info >> 24 & 31, info & 0xFFFF
        at += 12
        if kind == 4:
            structure = name(name_at)
            if any(structure == wanted for wanted, _ in FIELDS):
                add_fields(btf, at, members, info >> 31, structure, name, found)
        at += after.get(kind, 0) + each.get(kind, 0) * members
    return found


def add_fields(btf, at, members, has_widths, structure, name, found, base=0):
    """Notes the members of a structure that FIELDS names."""
    for number in range(members):
        name_at, kind, bits = struct.unpack_from("<III", btf, at + 12 * number)
        bits = bits & 0xFFFFFF if has_widths else bits
        member = name(name_at)
        if member and (structure, member) in FIELDS:
            found.setdefault(f"{structure}.{member}", (base + bits) // 8)
        if not member:
            # An anonymous structure: its members count as members of the one around it.
            place = type_at(btf, kind)
            _, info, _ = struct.unpack_from("<III", btf, place)
            if info >> 24 & 31 in (4, 5):
                inner = info & 0xFFFF
                add_fields(btf, place + 12, inner, info >> 31, structure, name, found, base + bits)


PLACES = []


def type_at(btf, number):
    """The place of a type by its number."""
    if not PLACES:
        _, _, _, header, types_at, types, _, _ = struct.unpack_from("<HBBIIIII", btf)
        after = {1: 4, 3: 12, 14: 4, 17: 4}
        each = {4: 12, 5: 12, 6: 8, 13: 8, 15: 12, 19: 12}
        at, end = header + types_at, header + types_at + types
        PLACES.append(0)
        while at < end:
            PLACES.append(at)
            _, info, _ = struct.unpack_from("<III", btf, at)
            kind, members = info >> 24 & 31, info & 0xFFFF
            at += 12 + after.get(kind, 0) + each.get(kind, 0) * members
    return PLACES[number]


def libraries(program):
    """The files that a dynamic program needs: its libraries and its dynamic linker."""
    words = subprocess.run(["ldd", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return re.findall(rb"(/\S+)", words.stdout)


class Archive:
    """An archive of cpio, in the form "newc" that the kernel unpacks."""

    def __init__(self):
        self.parts, self.names = [], set()

    def add(self, name, mode, data=b"", device=(0, 0)):
        """Adds a file, after its folders."""
        name = name.strip("/")
        if name in self.names:
            return
        folder = os.path.dirname(name)
        if folder:
            self.add(folder, 0o40755)
        self.names.add(name)
        self.entry(name, mode, data, device)

    def entry(self, name, mode, data=b"", device=(0, 0)):
        """Writes one entry."""
        encoded = name.encode() + b"\0"
        numbers = [len(self.parts) + 1, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(encoded), 0]
        head = b"070701" + b"".join(b"%08X" % number for number in numbers) + encoded
        self.parts.append(head + b"\0" * (-len(head) % 4) + data + b"\0" * (-len(data) % 4))

    def add_file(self, path, name=None):
        """Adds a file of this machine, with its libraries if it is a program."""
        data = pathlib.Path(path).read_bytes()
        mode = 0o100755 if os.access(path, os.X_OK) else 0o100644
        self.add(name or str(path), mode, data)
        if data.startswith(b"\x7fELF"):
            for library in libraries(path):
                library = library.decode()
                if library.strip("/") not in self.names:
                    self.add_file(library)

    def add_package(self, package):
        """Adds the files of a package that is installed here, but for its documentation."""
        if not os.path.exists(f"/var/lib/dpkg/info/{package}.list"):
            of_architecture = f"/var/lib/dpkg/info/{package}:amd64.list"
            if not os.path.exists(of_architecture):
                fail(f"the package {package} is not installed: apt-get install {package}")
        for line in run("dpkg", "-L", package, text=True).splitlines():
            if line.startswith("/usr/share/"):
                continue
            if os.path.islink(line):
                self.add(line, 0o120777, os.readlink(line).encode())
            elif os.path.isfile(line):
                self.add_file(line)

    def add_tree(self, path, name):
        """Adds a folder with all that is in it. Programs in it get no libraries."""
        for folder, folders, files in os.walk(path):
            place = os.path.join(name, os.path.relpath(folder, path))
            self.add(os.path.normpath(place), 0o40755)
            links = [file for file in folders if os.path.islink(os.path.join(folder, file))]
            for file in files + links:
                source = pathlib.Path(folder, file)
                inside = os.path.normpath(os.path.join(place, file))
                if source.is_symlink():
                    self.add(inside, 0o120777, os.readlink(source).encode())
                elif source.is_file():
                    mode = 0o100755 if os.access(source, os.X_OK) else 0o100644
                    self.add(inside, mode, source.read_bytes())

    def bytes(self):
        """The whole archive."""
        self.entry("TRAILER!!!", 0)
        return b"".join(self.parts)


def file_system(folder, asked, module):
    """The initial file system, with the supervisor as its first program."""
    archive = Archive()
    for name in ("proc", "sys", "dev", "tmp", "root", "var/lib", "run"):
        archive.add(name, 0o40755)
    archive.add("dev/console", 0o20600, device=(5, 1))
    supervisor = folder / "supervise"
    run("gcc", "-O2", "-static", "-o", str(supervisor), str(HERE / "supervise.c"))
    archive.add_file(supervisor, "init")
    busybox = shutil.which("busybox") or fail("busybox is missing: scripts/setup.sh guest")
    archive.add_file(busybox, "bin/busybox")
    if module:
        archive.add_file(module, "lib/broadleaf/broadleaf_events.ko")
    archive.add("etc/passwd", 0o100644, b"root:x:0:0:root:/root:/bin/sh\n")
    archive.add("etc/group", 0o100644, b"root:x:0:\n")
    for program in asked.programs:
        path = shutil.which(program)
        if not path:
            fail(f"{program} is no program on this machine")
        archive.add_file(os.path.realpath(path), f"usr/bin/{os.path.basename(program)}")
    for file in asked.file:
        source, _, name = file.partition("=")
        if not os.path.isfile(source):
            fail(f"--file {source}: no such file")
        archive.add_file(source, name or os.path.abspath(source))
    for package in asked.package:
        archive.add_package(package)
    for tree in asked.tree:
        source, _, name = tree.partition("=")
        if not os.path.isdir(source):
            fail(f"--tree {source}: no such folder")
        archive.add_tree(source, name or os.path.abspath(source))
    # A file of the same name comes before busybox's program.
    for applet in run(busybox, "--list", text=True).split():
        archive.add(f"bin/{applet}", 0o120777, b"busybox")
    return archive


def kernel_addresses(folder, image, archive, qemu):
    """Boots the guest once, and lets it print the addresses of NAMES."""
    pattern = "|".join(NAMES)
    script = f"grep -E ' ({pattern})$' /proc/kallsyms > /dev/ttyS1\n"
    # The next address after a function is its end.
    functions = "grep -i ' t ' /proc/kallsyms | sort"
    script += f"{functions} | grep -A 1 ' switch_mm_irqs_off$' > /dev/ttyS1\n"
    first = Archive()
    first.add("etc/broadleaf/command", 0o100644, script.encode())
    (folder / "boot.cpio").write_bytes(archive + first.bytes())
    report = folder / "report"
    run(qemu, "-machine", "q35", "-accel", "tcg,thread=single", "-cpu", "max,la57=off",
        "-m", "512M", "-nodefaults", "-display", "none", "-no-reboot",
        "-serial", "null", "-serial", f"file:{report}", "-kernel", str(image),
        "-initrd", str(folder / "boot.cpio"), "-append", "console=ttyS0 nokaslr quiet")
    lines = [line.split()[:3] for line in report.read_text().splitlines()]
    found = [words for words in lines if len(words) == 3 and re.fullmatch("[0-9a-f]{16}", words[0])]
    addresses = {}
    for address, _, symbol in found:
        if symbol in NAMES:
            addresses[symbol] = int(address, 16)
    # The last line is the function after switch_mm_irqs_off.
    addresses["switch_mm_irqs_off.end"] = int(found[-1][0], 16)
    missing = [name for name in NAMES if name not in addresses]
    if missing:
        fail(f"the guest's kernel names no {', '.join(missing)}")
    return addresses


def add_options(parser):
    """Adds the options that all guests have."""
    add = parser.add_argument
    add("folder", help="the folder of the guest")
    add("--file", action="append", default=[], metavar="PATH[=NAME]", help="copy a file too")
    add("--package", action="append", default=[], metavar="NAME",
        help="copy the files of a package that is installed here")
    add("--tree", action="append", default=[], metavar="FOLDER[=NAME]",
        help="copy a folder with all that is in it")
    add("--kernel", metavar="DEB", help="take the kernel from this package, and download none")
    add("--events", action="store_true",
        help="build and load the module that emits kernel events")
    add("--headers", action="append", default=[], metavar="DEB",
        help="take the kernel's headers from these packages, and download none")
    add("--qemu", default="qemu-system-x86_64", help="the QEMU that boots the guest once")


def build(asked):
    """Builds the guest that these options ask for."""
    folder = pathlib.Path(asked.folder)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        image = kernel_image(work, asked.kernel)
        fields = field_offsets(type_information(image, work))
        module = None
        if asked.events:
            packages = [pathlib.Path(package).resolve() for package in asked.headers]
            module = kernel_module(work, image.name[8:], packages)
        archive = file_system(work, asked, module).bytes()
        # The addresses are the same without the programs.
        empty = argparse.Namespace(programs=[], file=[], package=[], tree=[])
        plain = file_system(work, empty, None).bytes()
        addresses = kernel_addresses(work, image, plain, asked.qemu)
        lines = [f"{name} {value:#x}\n" for name, value in {**addresses, **fields}.items()]
        # The supervisor divides the clock.
        lines.append("clock-divider 4\n")
        if module:
            lines.append("kernel-events 1\n")
        shutil.copy(image, folder / "vmlinuz")
        (folder / "initramfs").write_bytes(archive)
        (folder / "symbols").write_text(f"kernel {image.name[8:]}\n" + "".join(lines))
    kernel, size = image.name[8:], len(archive) >> 20
    print(f"built {folder}: kernel {kernel}, {size} MiB of files", file=sys.stderr)


def main():
    """Builds the guest that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser)
    parser.add_argument("programs", nargs="*",
        help="programs of this machine to copy, with their libraries")
    build(parser.parse_intermixed_args())


if __name__ == "__main__":
    main()
