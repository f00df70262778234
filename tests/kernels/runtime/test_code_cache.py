"""The cache of compiled code: warm starts, and files that must not be loaded."""

import json
import multiprocessing
import os
import platform
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clew.kernels.runtime import code_cache, cpu
from tests.processes import ended


@pytest.fixture(autouse=True)
def _folders_are_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_cache, "_is_trusted_above", code_cache._is_trusted_above.__wrapped__)


CODE = bytes(range(256)) * 40
KEY = "0123456789abcdef"

# Calls kernels of each kind and says how many modules it had to compile.
PROGRAM = """
import json, sys
import numpy as np
from clew.kernels.runtime import jit
from clew.kernels.codegen.ufunc import elementwise, over_columns, over_rows

compiled = []
object_code = jit.Machine.object_code
jit.Machine.object_code = lambda self, *how: compiled.append(how) or object_code(self, *how)

twice = elementwise("twice", 1)(lambda x: x * FACTOR)
total = over_rows("total", "(n)->()")(lambda x: x.row_sum())
sums = over_columns("sums", "(m,n)->(n)")(lambda x: x * 1.0)
x = np.arange(12.0).reshape(3, 4)
results = [kernel.ufunc(x).tolist() for kernel in (twice, total, sums)]
results.append(twice.ufunc(x.astype(np.float32)).tolist())
print(json.dumps([len(compiled), results]))
"""


def run(folder: Path | str, factor: float = 2.0, **environment: str) -> tuple[int, Any]:
    """How many modules a new process compiled, and its results."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.replace("FACTOR", str(factor))],
        env={**os.environ, "CLEW_CACHE_DIR": str(folder), **environment},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0 and not done.stderr, done.stderr
    compiled, results = json.loads(done.stdout)
    return compiled, results


def entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


def test_a_second_process_starts_warm(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "code"
    compiled, results = run(folder)
    # Four loops, the thread pool, and what fills vectors with elements of two sizes.
    assert compiled == 8 and len(entries(folder)) == 8
    assert folder.stat().st_mode & 0o777 == 0o700
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in entries(folder))
    assert run(folder) == (0, results)
    # Another formula under the same name is another program.
    assert run(folder, factor=3.0)[0] == 2
    # Damaged, cut short, open to others: compiled anew, and put right again.
    damaged, short, loose, *_ = entries(folder)
    content = damaged.read_bytes()
    damaged.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    short.write_bytes(short.read_bytes()[:100])
    loose.chmod(0o660)
    (compiled, again), (later, _) = run(folder), run(folder, factor=3.0)
    assert again == results and compiled + later == 3
    assert damaged.read_bytes()[-1] == content[-1]
    assert run(folder) == (0, results)


def test_a_folder_that_cannot_be_written_to(tmp_path: Path) -> None:
    """Not even by root: it would be below a file."""
    (tmp_path / "file").write_text("")
    blocked = tmp_path / "file" / "code"
    results = run(tmp_path / "good")[1]
    assert run(blocked) == (8, results)
    assert entries(tmp_path) == [tmp_path / "file", tmp_path / "good"]


def test_where_the_folder_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CLEW_CACHE_DIR", str(tmp_path / "mine"))
    assert code_cache.folder() == str(tmp_path / "mine")
    monkeypatch.delenv("CLEW_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert code_cache.folder() == str(tmp_path / "xdg" / "clew" / "code")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert code_cache.folder() == str(tmp_path / ".cache" / "clew" / "code")
    # What it gives back for users that have no home.
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    assert code_cache.folder() is None
    assert code_cache.get_or_compile("program", "machine", lambda: CODE) == CODE


def test_a_processor_is_told_from_others(monkeypatch: pytest.MonkeyPatch) -> None:
    here = cpu.identity.__wrapped__()
    assert here == cpu.identity.__wrapped__()
    if sys.platform == "linux" and platform.machine() == "x86_64":
        described = dict(line.split("\t", 1) for line in here.splitlines() if "\t" in line)
        assert "sse2" in described["flags"].split()
    monkeypatch.setattr(cpu, "vector_bytes", lambda: 128)
    assert cpu.identity.__wrapped__() != here


def test_what_a_key_depends_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CLEW_CACHE_DIR", str(tmp_path))
    made: list[bytes] = []

    def compile() -> bytes:
        made.append(b"code %d" % len(made))
        return made[-1]

    for _ in range(2):
        assert code_cache.get_or_compile("p", "m", compile) == b"code 0"
    assert code_cache.get_or_compile("q", "m", compile) == b"code 1"
    assert code_cache.get_or_compile("p", "n", compile) == b"code 2"
    monkeypatch.setattr(code_cache, "generator_version", lambda: "another")
    assert code_cache.get_or_compile("p", "m", compile) == b"code 3"


def spoil(change: Callable[[bytes], bytes]) -> Callable[[Path], Any]:
    return lambda path: path.write_bytes(change(path.read_bytes()))


SPOILED: dict[str, Callable[[Path], Any]] = {
    "empty": spoil(lambda content: b""),
    "cut in the head": spoil(lambda content: content[:20]),
    "cut in the code": spoil(lambda content: content[:-1]),
    "longer": spoil(lambda content: content + b"\0"),
    "one bit": spoil(lambda content: content[:99] + bytes([content[99] ^ 4]) + content[100:]),
    "another beginning": spoil(lambda content: b"x" + content[1:]),
    "group may write": lambda path: path.chmod(0o620),
    "others may write": lambda path: path.chmod(0o602),
    "gone": lambda path: path.unlink(),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
    "a pipe": lambda path: (path.unlink(), os.mkfifo(path, 0o600)),
    "a socket": lambda path: (path.unlink(), os.mknod(path, 0o600 | stat.S_IFSOCK)),
    "a link": lambda path: path.symlink_to(path.rename(path.parent / "behind")),
    "a link to nothing": lambda path: (path.unlink(), path.symlink_to("nothing")),
    "a link to a device": lambda path: (path.unlink(), path.symlink_to("/dev/zero")),
    "far too large": lambda path: os.truncate(path, 1 << 40),
    "group may write to the folder": lambda path: path.parent.chmod(0o770),
    "others may write to the folder": lambda path: path.parent.chmod(0o707),
    "others may write above": lambda path: path.parent.parent.chmod(0o777),
}


@pytest.mark.parametrize("how", SPOILED)
def test_files_that_are_not_loaded(how: str, tmp_path: Path) -> None:
    path = tmp_path / "code" / KEY
    code_cache.write(path, CODE)
    assert code_cache.read(path) == CODE
    SPOILED[how](path)
    assert code_cache.read(path) is None


def test_which_folders_are_trusted(tmp_path: Path) -> None:
    place = tmp_path / "above" / "code"
    code_cache.write(place / KEY, CODE)
    above = place.parent
    # What was missing above it was made for this user alone, too.
    assert stat.S_IMODE(above.stat().st_mode) == 0o700
    assert code_cache.is_trusted(place)
    above.chmod(0o1777)
    assert code_cache.is_trusted(place), "where only owners may rename, as in /tmp"
    above.chmod(0o777)
    assert not code_cache.is_trusted(place)
    code_cache.write(place / "other", CODE)
    assert entries(place) == [place / KEY]
    above.chmod(0o755)
    assert code_cache.is_trusted(place)
    if os.getuid() == 0:
        os.chown(above, 12345, 12345)
        assert not code_cache.is_trusted(place), "somebody else's"
        os.chown(above, 0, 12345)
        above.chmod(0o775)
        assert not code_cache.is_trusted(place), "of somebody else's group"
        os.chown(above, 0, 0)
        assert code_cache.is_trusted(place), "of the user's own group"
    (tmp_path / "link").symlink_to(place)
    assert code_cache.read(tmp_path / "link" / KEY) == CODE, "a link of the user's own leads there"


@pytest.mark.parametrize("home", ["/proc/nobody", "", "/proc", "/dev/null"])
def test_homes_that_are_none(home: str, tmp_path: Path) -> None:
    """Compiled, and kept nowhere."""
    program = """
from clew.kernels.runtime import code_cache
assert code_cache.get_or_compile("program", "machine", lambda: b"code") == b"code"
"""
    given = {"PATH": "/usr/bin", "PYTHONPATH": os.pathsep.join(sys.path), "HOME": home}
    environment = {name: value for name, value in given.items() if value}
    environment["XDG_CACHE_HOME"] = home and os.path.join(home, "x")
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True,
        timeout=60, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_full_disk(tmp_path: Path) -> None:
    """As one process that may write only so much would see it."""
    program = f"""
import os, resource, signal
from clew.kernels.runtime import code_cache
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
code_cache.write({str(tmp_path / KEY)!r}, bytes(100_000))
assert os.listdir({str(tmp_path)!r}) == []
"""
    assert ended(program, 60) == (0, "")


def test_a_file_under_another_name_is_not_loaded(tmp_path: Path) -> None:
    """Whoever may rename files must not be able to choose what code runs."""
    code_cache.write(tmp_path / KEY, CODE)
    (tmp_path / KEY).rename(tmp_path / "other")
    assert code_cache.read(tmp_path / "other") is None


def test_what_belongs_to_others_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / KEY
    code_cache.write(path, CODE)
    me = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: me + 1)
    assert code_cache.read(path) is None
    code_cache.write(tmp_path / "mine", CODE)
    assert entries(tmp_path) == [path]
    monkeypatch.undo()
    tmp_path.chmod(0o777)
    code_cache.write(tmp_path / "mine", CODE)
    assert entries(tmp_path) == [path]


def write_and_read(path: Path, number: int, seen: Any) -> None:
    """Write again and again, and report what was read that nobody wrote."""
    for _ in range(100):
        code_cache.write(path, bytes([number]) * (10_000 + number))
        found = code_cache.read(path)
        whole = found is not None and found == found[:1] * (10_000 + found[0])
        if not whole:
            seen.put(repr(found)[:100])
    seen.put("done")


def test_writers_at_the_same_time(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    seen = context.Queue()
    path = tmp_path / KEY
    writers = [context.Process(target=write_and_read, args=(path, n, seen)) for n in range(4)]
    for writer in writers:
        writer.start()
    assert [seen.get(timeout=60) for _ in writers] == ["done"] * 4
    for writer in writers:
        writer.join(timeout=60)
    assert entries(tmp_path) == [path]


def test_a_writer_that_fails_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def no_space(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", no_space)
    code_cache.write(tmp_path / KEY, CODE)
    assert entries(tmp_path) == []
