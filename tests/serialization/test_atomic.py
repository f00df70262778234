"""Saving to a path: the old file or the new one, whole, whatever happens meanwhile."""

from __future__ import annotations

import errno
import io
import os
import random
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch

import clew
from clew.serialization import atomic, safetensors
from tests.test_docs import examples


def leftovers(folder: Path) -> list[str]:
    return sorted(name for name in os.listdir(folder) if name.endswith(".tmp"))


_LOOP = """
import sys, clew
path = sys.argv[1]
clew.save({"n": 0, "w": clew.full((400_000,), 0.0)}, path)
print("ready", flush=True)
n = 0
while True:
    n += 1
    clew.save({"n": n, "w": clew.full((400_000,), float(n))}, path)
"""


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
def test_a_kill_at_any_moment_leaves_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.pt"
    numbers = []
    for attempt in range(8):
        process = subprocess.Popen(
            [sys.executable, "-c", _LOOP, str(path)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        time.sleep(random.Random(attempt).uniform(0.0, 0.05))
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        loaded = clew.load(path)
        assert loaded["w"].min() == loaded["w"].max() == loaded["n"]
        assert torch.load(path)["n"] == loaded["n"]
        numbers.append(loaded["n"])
    assert max(numbers) > 0  # some kills came while it was being replaced


_STEPS = """
import os, signal, sys
import clew
path, wanted, countdown = sys.argv[1], sys.argv[2], int(sys.argv[3])
real = getattr(os, wanted)
def killing(*args, **kwargs):
    global countdown
    countdown -= 1
    if countdown == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*args, **kwargs)
setattr(os, wanted, killing)
clew.save(clew.full((1000,), 2.0), path)
"""


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
@pytest.mark.parametrize(
    ("step", "countdown", "value"),
    [("open", 1, 1.0), ("fsync", 1, 1.0), ("replace", 1, 1.0), ("fsync", 2, 2.0)],
)
def test_a_kill_before_each_step(tmp_path: Path, step: str, countdown: int, value: float) -> None:
    path = tmp_path / "x.pt"
    clew.save(clew.full((1000,), 1.0), path)
    arguments = [sys.executable, "-c", _STEPS, str(path), step, str(countdown)]
    assert subprocess.run(arguments, check=False).returncode == -signal.SIGKILL
    assert clew.load(path).tolist() == [value] * 1000


class Unpicklable:
    def __reduce__(self) -> Any:
        raise ValueError("not to be pickled")


def test_an_error_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.pt"
    clew.save("old", path)
    with pytest.raises(ValueError, match="not to be pickled"):
        clew.save([clew.ones(2), Unpicklable()], path)
    assert clew.load(path) == "old" and os.listdir(tmp_path) == ["x.pt"]

    def full(*args: Any) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    for step in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, step, full)
            with pytest.raises(OSError, match="No space left"):
                clew.save("new", path)
        assert clew.load(path) == "old" and os.listdir(tmp_path) == ["x.pt"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device that is always full")
def test_a_full_disk_is_an_error() -> None:
    with pytest.raises(OSError) as caught:
        clew.save(clew.ones(100_000), "/dev/full")
    assert caught.value.errno == errno.ENOSPC


def test_an_interrupt_leaves_no_temporary(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt), atomic.replacing(path) as temporary:
        Path(temporary).write_text("half")
        assert leftovers(tmp_path)
        raise KeyboardInterrupt
    assert path.read_text() == "old" and leftovers(tmp_path) == []


@pytest.mark.skipif(os.name == "nt", reason="permissions are others there")
def test_permissions_stay_and_new_files_follow_the_umask(tmp_path: Path) -> None:
    path = tmp_path / "x.pt"
    before = os.umask(0o027)
    try:
        clew.save(1, path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
    finally:
        os.umask(before)
    path.chmod(0o604)
    clew.save(2, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o604 and clew.load(path) == 2


def test_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    target, link = tmp_path / "real" / "x.pt", tmp_path / "link.pt"
    link.symlink_to(target)
    for value in (1, 2):
        clew.save(value, link)
        assert link.is_symlink() and not target.is_symlink() and clew.load(target) == value
    assert sorted(os.listdir(tmp_path)) == ["link.pt", "real"]


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_file_without_write_permission_stays(tmp_path: Path) -> None:
    path = tmp_path / "x.pt"
    clew.save("old", path)
    path.chmod(0o444)
    with pytest.raises(PermissionError):
        clew.save("new", path)
    assert clew.load(path) == "old"


def test_write_permission_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.pt"
    clew.save("old", path)
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(PermissionError, match="Permission denied"):
        clew.save("new", path)
    assert clew.load(path) == "old" and os.listdir(tmp_path) == ["x.pt"]


def test_what_is_not_a_file_is_written_to_as_it_is() -> None:
    clew.save(clew.ones(2), os.devnull)
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode) or os.name == "nt"


def test_long_and_relative_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("x.pt", "ü" * 120, "n" * 250):
        clew.save(7, name)
        assert clew.load(name) == 7
    with pytest.raises(RuntimeError, match=r"^Parent directory missing does not exist\."):
        clew.save(7, "missing/x.pt")


def test_safetensors_files_are_replaced_in_the_same_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.safetensors"
    safetensors.save_file({"a": clew.ones(2)}, path)

    def fail(*args: Any) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="No space left"):
        safetensors.save_file({"a": clew.zeros(2)}, path)
    assert safetensors.load_file(path)["a"].tolist() == [1, 1]
    assert os.listdir(tmp_path) == ["x.safetensors"]


def test_nothing_is_added_to_a_file_object_after_an_error() -> None:
    class Full(io.BytesIO):
        def write(self, data: Any) -> int:
            if self.tell() + len(data) > 3000:
                raise OSError(errno.ENOSPC, "No space left on device")
            return super().write(data)

    file = Full()
    with pytest.raises(OSError, match="No space left"):
        clew.save(clew.ones(10_000), file)
    with pytest.raises(RuntimeError, match="PytorchStreamReader failed"):
        clew.load(io.BytesIO(file.getvalue()))


@pytest.mark.parametrize(("code", "output"), examples("docs/saving.md"))
def test_the_page_shows_what_happens(code: str, output: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == output.strip(), done.stderr
