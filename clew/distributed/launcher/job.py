"""One run of a program as several ranks: mpirun, its end, and the first cause of a failure."""

from __future__ import annotations

import codecs
import contextlib
import ctypes
import functools
import glob
import os
import re
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TextIO

from clew.distributed.launcher.output import Output
from clew.distributed.runtime import flight_recorder, mpi

if sys.platform != "win32":
    import fcntl

# After the first fault the ranks have this long to end by themselves, then they are killed.
_GRACE = 4.0
# How often it is looked whether ranks called different collectives.
_LOOK = 1.0
_PR_SET_PDEATHSIG = 1
_MEMORY, _PREFIX, _LOCK = "/dev/shm", "clew-launch-", "launcher-is-there"
_SIGNAL = re.compile(r"process rank (\d+) with PID \d+ on node \S+ exited on\s+signal (\d+)")
_CODE = re.compile(r"Process name: \[(?:\S+?@\d+|\[\d+,\d+\]),(\d+)\]\s+Exit code: +(\d+)")
_VERSION = re.compile(r"\(Open MPI\) (\d+)\.")
# What MPICH's launcher, Hydra, says of a rank that was killed or has exited.
_PROCESS = re.compile(r"= +PID (\d+) RUNNING AT \S+ = +EXIT CODE: (\d+)")
_HYDRA = 0
# Signals that want the job to end. What a handler raises is lost where it comes in a finalizer.
INTERRUPTS: list[int] = []
_IMPROPER = re.compile(r"process rank (\d+) with PID \d+ on node \S+ exiting\s+improperly")


class LaunchError(Exception):
    """The ranks could not be started."""


@dataclass
class Failure:
    """Why a job ended: the rank, what happened, the user's line, and the text of an error."""

    rank: int
    title: str
    place: str = ""
    text: str = ""
    status: int = 1
    others: list[int] = field(default_factory=list)
    # The process of the rank, if it has written that down.
    pid: int = 0


@dataclass
class Job:
    """A command to be run as ranks."""

    ranks: int
    command: Sequence[str]
    hosts: str | None = None
    environment: dict[str, str] = field(default_factory=dict)
    prefixed: bool = True
    stdout: TextIO = field(default_factory=lambda: sys.stdout)
    stderr: TextIO = field(default_factory=lambda: sys.stderr)

    def run(self) -> Failure | None:
        """Run it to its end; None if all ranks ended well."""
        output = Output(self.ranks, self.stdout, self.stderr, self.prefixed)
        with _folder() as folder:
            process = subprocess.Popen(
                self._mpirun(folder),
                env=self._environment(folder),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                preexec_fn=die_with_parent,
            )
            try:
                _follow(process, output, folder)
            finally:
                _end(process)
            output.close()
            mismatch = flight_recorder.mismatch(folder)
            processes = _processes(folder)
            failure = failure_of(process.returncode, output, mismatch, processes)
            if failure is not None:
                failure.pid = next((p for p, r in processes.items() if r == failure.rank), 0)
                _locate(failure, output, folder)
            return failure

    def _mpirun(self, folder: str) -> list[str]:
        path = _find_mpirun()
        if _major_version(path) == _HYDRA:
            # MPICH's takes a pattern: Open MPI's tags.
            words = [path, "-prepend-pattern", "[1,%r]<stdout>: ", "-n", str(self.ranks)]
            return [*words, *(["-hosts", self.hosts] if self.hosts else []), *self.command]
        if _major_version(path) < 5:
            words = [path, "--tag-output", "--oversubscribe", "--mca", "orte_tmpdir_base", folder]
        else:
            words = [path, "--output", "tag", "--map-by", ":OVERSUBSCRIBE"]
            words += ["--prtemca", "prte_tmpdir_base", folder]
        words += ["--bind-to", "none", "-n", str(self.ranks)]
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            words.append("--allow-run-as-root")
        if self.hosts:
            words += ["--host", self.hosts]
            for name in (
                "CLEW_LAUNCH",
                "MASTER_ADDR",
                "MASTER_PORT",
                mpi.YIELDS[0],
                *self.environment,
            ):
                words += ["-x", name]
        return [*words, *self.command]

    def _environment(self, folder: str) -> dict[str, str]:
        found = dict(os.environ)
        found.update(CLEW_LAUNCH="1", PYTHONUNBUFFERED="1")
        found[flight_recorder.FOLDER] = folder
        found.setdefault("MASTER_ADDR", "127.0.0.1" if not self.hosts else socket.gethostname())
        found.setdefault("MASTER_PORT", "29500")
        found.setdefault(*mpi.YIELDS)
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
        found.setdefault("OMP_NUM_THREADS", str(max(1, cores // self.ranks)))
        # A torchrun or a launcher around this one says nothing about these ranks.
        for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"):
            found.pop(name, None)
        is_managed = "SLURM_JOB_ID" in found or "PBS_JOBID" in found
        if not self.hosts and not is_managed and _major_version(_find_mpirun()) != _HYDRA:
            # One machine: shared memory. Looking for networks takes a second.
            memory = "vader" if _major_version(_find_mpirun()) < 5 else "sm"
            found.setdefault("OMPI_MCA_pml", "ob1")
            found.setdefault("OMPI_MCA_btl", f"self,{memory}")
            found[f"OMPI_MCA_btl_{memory}_backing_directory"] = folder
        found.update(self.environment)
        return found


@contextlib.contextmanager
def _folder() -> Iterator[str]:
    """A folder for what ranks share, in memory where that is possible.

    Who holds a lock in it is there: those of launchers that were killed are removed.
    """
    memory = _MEMORY if os.access(_MEMORY, os.W_OK) else tempfile.gettempdir()
    for path in glob.glob(os.path.join(memory, f"{_PREFIX}*", _LOCK)):
        with contextlib.suppress(OSError), open(path, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(os.path.dirname(path), ignore_errors=True)
    folder = tempfile.mkdtemp(prefix=_PREFIX, dir=memory)
    try:
        with open(os.path.join(folder, "starting"), "wb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            os.rename(file.name, os.path.join(folder, _LOCK))
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _find_mpirun() -> str:
    beside = os.path.join(os.path.dirname(sys.executable), "mpirun")
    found = beside if os.access(beside, os.X_OK) else shutil.which("mpirun")
    if found is None:
        raise LaunchError(
            "there is no mpirun: install MPI with `pip install 'clew[mpi]'`, or load the MPI of "
            "your cluster"
        )
    return found


@functools.cache
def _major_version(mpirun: str) -> int:
    """That of Open MPI, whose words for the command line and for shared memory have changed.

    0 is MPICH's launcher.
    """
    said = subprocess.run([mpirun, "--version"], capture_output=True, text=True, check=False).stdout
    found = _VERSION.search(said)
    if found is None and said.startswith("HYDRA"):
        return _HYDRA
    if found is None:
        first = (said.strip().splitlines() or ["nothing"])[0]
        raise LaunchError(
            f"{mpirun} is neither Open MPI's nor MPICH's (it says: {first}). Start the ranks "
            "with it yourself: mpirun -n 4 clew run train.py"
        )
    return int(found[1])


def die_with_parent() -> None:
    """Let Linux kill this process when the one that started it is gone: nothing is left over."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


# -- while it runs ---------------------------------------------------------------------------------


def _follow(process: subprocess.Popen[bytes], output: Output, folder: str) -> None:
    """Show output until mpirun has ended, or does not end after a fault.

    Ranks that called different collectives have a while to notice themselves, with exact lines.
    """
    looked = time.monotonic()
    until: list[float] = []
    output.on_fault = lambda: until.append(time.monotonic() + _GRACE)
    decoders = {"out": _decoder(), "err": _decoder()}
    with selectors.DefaultSelector() as selector:
        for name, stream in (("out", process.stdout), ("err", process.stderr)):
            assert stream is not None
            selector.register(stream, selectors.EVENT_READ, name)
        while selector.get_map():
            if INTERRUPTS:
                raise KeyboardInterrupt
            if until and time.monotonic() > until[0]:
                return
            for key, _ in selector.select(timeout=0.2):
                data = os.read(key.fd, 1 << 16)
                if data:
                    output.feed(key.data, decoders[key.data].decode(data))
                else:
                    selector.unregister(key.fileobj)
            if time.monotonic() - looked > _LOOK:
                looked = time.monotonic()
                if not until and flight_recorder.mismatch(folder) is not None:
                    until.append(looked + _GRACE)
            if process.poll() is not None and not until:
                # What a rank left behind may hold the pipes open.
                until.append(time.monotonic() + 1.0)


def _decoder() -> Any:
    return codecs.getincrementaldecoder("utf-8")("replace")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End mpirun, and with it the ranks, if it has not ended."""
    for signal_number, seconds in ((signal.SIGTERM, 2.0), (signal.SIGKILL, 10.0)):
        if process.poll() is None:
            process.send_signal(signal_number)
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                continue
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()


# -- why it ended ----------------------------------------------------------------------------------


def _processes(folder: str) -> dict[int, int]:
    """The ranks of this machine by their process numbers, as they have written them down."""
    found = {}
    for path in glob.glob(os.path.join(folder, "process-*")):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if text:
            found[int(text)] = int(path.rpartition("-")[2])
    return found


def _locate(failure: Failure, output: Output, folder: str) -> None:
    """Say where a rank was that could not say so itself."""
    if failure.rank < 0 or failure.place or failure.text:
        return
    failure.place, failure.text = output.crash_of(failure.rank)
    if not failure.place and (seen := flight_recorder.last_place(folder, failure.rank)):
        failure.title += f", last seen at {seen}"


def failure_of(
    status: int,
    output: Output,
    mismatch: str | None = None,
    processes: dict[int, int] | None = None,
) -> Failure | None:
    """The first cause: what a rank reported, else what mpirun says of one that could not.

    Collectives that did not fit together come before what MPI made of them.
    """
    if mismatch and not any("Detected mismatch" in fault["title"] for fault in output.faults):
        return Failure(-1, mismatch)
    if output.faults:
        first, *later = sorted(output.faults, key=lambda fault: fault["time"])
        others = sorted({fault["rank"] for fault in later} - {first["rank"]})
        return Failure(
            first["rank"], first["title"], first["place"], first["text"], first["status"], others
        )
    if status == 0:
        return None
    said = " ".join("\n".join(output.notes).split())
    if found := _SIGNAL.search(said):
        number = int(found[2])
        name = next((s.name for s in signal.Signals if s == number), str(number))
        hint = ": out of memory?" if name == "SIGKILL" else ""
        return Failure(int(found[1]), f"was killed by {name}{hint}", status=128 + number)
    if found := _CODE.search(said):
        return Failure(int(found[1]), f"exited with status {found[2]}", status=int(found[2]))
    if found := _PROCESS.search(said):
        rank, number = (processes or {}).get(int(found[1]), -1), int(found[2])
        name = next((s.name for s in signal.Signals if s == number), "")
        if f"(signal {number})" in said and name:
            hint = ": out of memory?" if name == "SIGKILL" else ""
            return Failure(rank, f"was killed by {name}{hint}", status=128 + number)
        return Failure(rank, f"exited with status {number}", status=number)
    if found := _IMPROPER.search(said):
        return Failure(int(found[1]), "ended without the others (os._exit, or no clean end)")
    words = output.words_of_mpi() or [f"it ended with status {status}, and no rank said why"]
    return Failure(-1, "\n  ".join(["mpirun failed:", *words[-8:]]), status=abs(status))
