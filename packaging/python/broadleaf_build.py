"""The build of the Python package: maturin's, with the command among the scripts of the wheel.

docs/decisions/0021 has the reason why the command is a program of its own.
"""

import json
import shutil
import subprocess
from pathlib import Path

import maturin
from maturin import (  # noqa: F401
    get_requires_for_build_editable,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "python/data/scripts"
"""The folder whose files maturin puts among the scripts: `data` in pyproject.toml. It must exist for every hook."""
SCRIPTS.mkdir(parents=True, exist_ok=True)


def _build_command() -> None:
    """Builds the command, in the profile of the extension, so that both share all libraries."""
    build = ["cargo", "build", "--release", "--locked", "--bin", "broadleaf"]
    build += ["--message-format", "json-render-diagnostics"]
    output = subprocess.run(build, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    messages = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    programs = [message["executable"] for message in messages if message.get("executable")]
    shutil.copy(programs[-1], SCRIPTS / "broadleaf")


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):  # noqa: ANN001, ANN201, D103
    _build_command()
    return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):  # noqa: ANN001, ANN201, D103
    _build_command()
    return maturin.build_editable(wheel_directory, config_settings, metadata_directory)


def build_sdist(sdist_directory, config_settings=None):  # noqa: ANN001, ANN201, D103
    # Maturin packs the crates that the extension needs, and not those of the command.
    raise RuntimeError("Broadleaf has no source distribution: install from a clone, with pip install PATH")
