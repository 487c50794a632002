"""``python -m broadleaf``: the command that the wheel installs."""

import os
import sys
import sysconfig
from pathlib import Path


def main() -> None:
    """Replaces this process by the command."""
    names = [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", scheme=f"{os.name}_user")]
    for folder in filter(None, names):
        command = Path(folder) / "broadleaf"
        if command.is_file():
            os.execv(command, [str(command), *sys.argv[1:]])
    sys.exit(f"broadleaf: the command is in none of {', '.join(filter(None, names))}: install the package again")


if __name__ == "__main__":
    main()
