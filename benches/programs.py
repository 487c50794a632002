"""The inputs and commands of the benchmarks. They are equal on machines with the same packages."""

import glob
import random
import subprocess


def text(path, size):
    """Writes lines of the licences of every Debian machine, in an order with a fixed seed."""
    lines = []
    for name in sorted(glob.glob("/usr/share/common-licenses/*")):
        with open(name, errors="replace") as f:
            lines += f.readlines()
    draw = random.Random(20)
    with open(path, "w") as f:
        while f.tell() < size:
            at = draw.randrange(len(lines))
            f.writelines(lines[at : at + 4])
        f.truncate(size)


def source(path, functions):
    """Writes a C file of many functions with loops, switches and structures."""
    draw = random.Random(7)
    with open(path, "w") as f:
        f.write(
            "int strcmp(const char *, const char *);\nstruct s { int a, b; double d; char name[24]; struct s *next; };\n"
        )
        for n in range(functions):
            a, b, c = (draw.randrange(1, 999) for _ in range(3))
            f.write(
                f"static int helper{n}(struct s *p, int k) {{ int r = {a}; for (int i = 0; i < k; i++) {{\n"
                f"  switch ((p->a + i) % 5) {{ case 0: r += p->b * {b}; break; case 1: r ^= i << {b % 13}; break;\n"
                f"  case 2: p->d = p->d * {a}.5 + r; break; case 3: r -= (int)p->d; break; default: r += {c}; }}\n"
                f"  if (r > {a * c}) p = p->next ? p->next : p; }} return r; }}\n"
                f"int work{n}(struct s *p, const char *t) {{ int v[16] = {{0}}; for (int i = 0; i < 16; i++)\n"
                f"  v[i] = helper{n}(p, i + {a % 7}) + (t ? t[i % 3] : 0); int m = 0;\n"
                f"  for (int i = 0; i < 16; i++) for (int j = 0; j < i; j++) m += v[i] * v[j] % {b + 3};\n"
                f"  if (t && strcmp(t, p->name) == 0) m += helper{n}(p->next, m & 31); return m; }}\n"
            )


def compiler():
    """Returns the compiler proper, without the driver that starts it."""
    found = subprocess.run(
        ["gcc", "-print-prog-name=cc1"], check=True, capture_output=True, text=True
    )
    return found.stdout.strip()
