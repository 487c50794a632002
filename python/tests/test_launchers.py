"""Dask's launchers: the job scripts of the clusters that the book documents, and sweeps on them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import broadleaf
import dask_jobqueue
import distributed
import pytest
from dask_jobqueue.htcondor import HTCondorJob
from dask_jobqueue.lsf import LSFJob
from dask_jobqueue.pbs import PBSJob
from dask_jobqueue.slurm import SLURMJob
from dask_processes import SMALL, write_experiment

ARGUMENTS: dict[str, Any] = {
    "cores": 4,
    "processes": 4,
    "memory": "8GB",
    "python": "python3",
    "job_script_prologue": [". /shared/venv/bin/activate"],
}
WORKER = "python3 -m distributed.cli.dask_worker tcp://10.0.0.1:8786 --name broadleaf --nthreads 1"


def script_of(job: Any, **arguments: Any) -> list[str]:
    script: str = job("tcp://10.0.0.1:8786", "broadleaf", **ARGUMENTS, **arguments).job_script()
    return script.splitlines()


SHELLS = [
    pytest.param(
        SLURMJob,
        {"queue": "short", "walltime": "01:00:00"},
        "#SBATCH",
        ["-J dask-worker", "-p short", "-n 1", "--cpus-per-task=4", "--mem=8G", "-t 01:00:00"],
        id="slurm",
    ),
    pytest.param(
        PBSJob,
        {"queue": "short", "walltime": "01:00:00"},
        "#PBS",
        ["-N dask-worker", "-q short", "-l select=1:ncpus=4:mem=7630MB", "-l walltime=01:00:00"],
        id="pbs",
    ),
    pytest.param(
        LSFJob,
        {"queue": "short", "walltime": "01:00", "lsf_units": "mb"},
        "#BSUB",
        ["-J dask-worker", "-q short", "-n 4", '-R "span[hosts=1]"', "-M 8000", "-W 01:00"],
        id="lsf",
    ),
]


@pytest.mark.parametrize(("job", "arguments", "mark", "wanted"), SHELLS)
def test_a_job_script_starts_workers(job: Any, arguments: dict[str, Any], mark: str, wanted: list[str]) -> None:
    lines = script_of(job, **arguments)
    assert lines[0] == "#!/usr/bin/env bash"
    assert [line for line in lines if line.startswith(mark)] == [f"{mark} {word}" for word in wanted]
    assert lines.index(". /shared/venv/bin/activate") == len(lines) - 2
    assert lines[-1].startswith(WORKER) and "--nworkers 4" in lines[-1]
    subprocess.run(["bash", "-n", "-c", "\n".join(lines)], check=True)


def test_a_job_of_htcondor_starts_workers() -> None:
    """A submit description. ``/bin/sh`` runs its command, so the prologue has ``.`` in place of ``source``."""
    lines = script_of(HTCondorJob, disk="4GB")
    assert lines[0] == "#!/usr/bin/env condor_submit" and lines[-1] == "Queue"
    fields = dict(line.split(" = ", 1) for line in lines if " = " in line)
    assert fields["Executable"] == "/bin/sh"
    assert (fields["MY.DaskWorkerCores"], fields["MY.DaskWorkerMemory"]) == ("4", "8000000000")
    assert fields["MY.DaskWorkerDisk"] == "4000000000"
    command = condor_command(fields["Arguments"])
    assert command.startswith(f". /shared/venv/bin/activate; {WORKER}")
    subprocess.run(["sh", "-n", "-c", command], check=True)


def condor_command(arguments: str) -> str:
    """The command in ``Arguments`` of a submit description, which quotes by doubling."""
    inside = arguments.removeprefix('"').removesuffix('"').replace('""', '"')
    return inside.removeprefix("-c '").removesuffix("'").replace("''", "'")


def test_kubernetes_runs_workers_of_an_image_with_the_package() -> None:
    operator = pytest.importorskip("dask_kubernetes.operator")
    spec = operator.make_cluster_spec(
        name="broadleaf", image="registry/broadleaf:1", n_workers=20, resources={"limits": {"cpu": "4"}}
    )
    assert (spec["kind"], spec["metadata"]) == ("DaskCluster", {"name": "broadleaf"})
    worker = spec["spec"]["worker"]
    assert worker["replicas"] == 20
    for containers in (worker["spec"]["containers"], spec["spec"]["scheduler"]["spec"]["containers"]):
        (container,) = containers
        # The scheduler needs the package too: it makes the page of sweeps.
        assert container["image"] == "registry/broadleaf:1"
        assert container["resources"] == {"limits": {"cpu": "4"}}
    assert worker["spec"]["containers"][0]["args"][0] == "dask-worker"
    # The page of sweeps is on this port.
    ports = {port["name"]: port["port"] for port in spec["spec"]["scheduler"]["service"]["ports"]}
    assert ports == {"tcp-comm": 8786, "http-dashboard": 8787}


SUBMIT = f"""#!{sys.executable}
import os, re, subprocess, sys
name = os.path.basename(sys.argv[0])
text = sys.stdin.read() if name == "bsub" else open(sys.argv[-1]).read()
if name == "condor_submit":
    quoted = re.search('^Arguments = "-c .(.*).\"$', text, re.MULTILINE)[1]
    command = ["/bin/sh", "-c", quoted.replace('""', '"').replace("''", "'")]
else:
    command = ["bash", "-c", text]
log = open(os.environ["JOBS"] + ".log", "ab")
job = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
open(os.environ["JOBS"], "a").write(f"{{job.pid}}\\n")
print(f"1 job(s) submitted to cluster {{job.pid}}." if name == "condor_submit" else f"Submitted job <{{job.pid}}>")
"""
CANCEL = '#!/bin/sh\nkill -- "-${1%.*}"\n'


@pytest.fixture
def batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The commands of batch systems, which run each job on this machine at once."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for text, names in [(SUBMIT, "sbatch qsub bsub condor_submit"), (CANCEL, "scancel qdel bkill condor_rm")]:
        for name in names.split():
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("JOBS", str(tmp_path / "jobs"))
    yield
    file = tmp_path / "jobs"
    # A test that failed early has started no job.
    for job in file.read_text().split() if file.exists() else []:
        with suppress(ProcessLookupError):
            os.killpg(int(job), signal.SIGKILL)


CLUSTERS = ["SLURMCluster", "PBSCluster", "LSFCluster", "HTCondorCluster"]


@pytest.mark.usefixtures("batch")
@pytest.mark.parametrize("name", CLUSTERS)
def test_a_sweep_runs_on_workers_of_a_batch_system(name: str, tmp_path: Path) -> None:
    file = write_experiment(tmp_path / "in", traces=2, text=SMALL)
    arguments = {"disk": "1GB"} if name == "HTCondorCluster" else {}
    make = getattr(dask_jobqueue, name)
    with make(
        cores=1, processes=1, memory="1GB", python=sys.executable, job_script_prologue=["export BATCH=yes"],
        local_directory=str(tmp_path), scheduler_options={"dashboard_address": "127.0.0.1:0"}, **arguments
    ) as cluster:  # fmt: skip
        cluster.scale(jobs=1)
        with distributed.Client(cluster) as client:
            client.wait_for_workers(1, timeout=60)
            assert client.submit(os.getenv, "BATCH").result(timeout=60) == "yes"
            outcome = broadleaf.sweep(file, tmp_path / "out", client)
    assert (outcome.computed, outcome.failed) == (8, {})
