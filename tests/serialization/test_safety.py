"""Files that lie: no code of theirs runs, and damage is noticed."""

from __future__ import annotations

import collections
import io
import os
import pickle
import pickletools
import struct
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import clew
import clew.distributions
import clew.optim
import clew.utils.data
from clew.serialization import safe_globals
from tests.saving import REFUSED, archive_of, clew_bytes, clew_load, torch_bytes, torch_load

_watched: list[str] | None = None
_RUNNING_CODE = ("exec", "compile", "import", "os.system", "os.exec", "os.posix_spawn",
                 "subprocess.Popen", "os.fork")  # fmt: skip


def _watch(event: str, args: Any) -> None:
    if _watched is not None and event in _RUNNING_CODE:
        _watched.append(f"{event} {args[:1]}")


sys.addaudithook(_watch)
# zipfile reads names that are not marked as UTF-8 with this codec, which is imported at first use.
"".encode("cp437")


@contextmanager
def nothing_runs() -> Iterator[None]:
    """Fails when the interpreter imports, compiles, executes or starts anything inside."""
    global _watched
    events = _watched = []
    try:
        yield
    finally:
        _watched = None
    assert events == []


# -- names -----------------------------------------------------------------------------------------


class Payload:
    """Leaves a file behind if it is ever executed."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.system, (f"touch {self.path}",)


@pytest.mark.parametrize("weights_only", [None, True, False])
@pytest.mark.parametrize("new_format", [True, False])
def test_a_payload_is_refused_by_name(
    tmp_path: Path, weights_only: bool | None, new_format: bool
) -> None:
    marker = tmp_path / "executed"
    data = torch_bytes(
        {"a": torch.ones(1), "b": Payload(marker)}, _use_new_zipfile_serialization=new_format
    )
    with nothing_runs(), pytest.raises(pickle.UnpicklingError) as caught:
        clew_load(data, weights_only=weights_only)
    text = str(caught.value)
    assert text.startswith("Weights only load failed.")
    assert "unsupported GLOBAL posix.system whose module posix is blocked" in text
    assert not marker.exists()
    found = clew.serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(data))
    assert found == ["posix.system"]
    assert not marker.exists()


def test_blocked_modules_cannot_be_added(tmp_path: Path) -> None:
    marker = tmp_path / "executed"
    with safe_globals([os.system]), pytest.raises(pickle.UnpicklingError, match="blocked"):
        clew_load(torch_bytes(Payload(marker)), weights_only=False)
    assert not marker.exists()


@pytest.mark.parametrize(
    "name",
    [
        "builtins eval", "builtins exec", "builtins getattr", "builtins __import__",
        "builtins compile", "builtins open", "builtins type", "builtins object", "builtins map",
        "__builtin__ eval", "os system", "os.path join", "sys exit", "subprocess Popen",
        "functools partial", "operator attrgetter", "operator methodcaller",
        "copyreg _reconstructor",
        "importlib import_module", "pickle loads", "_pickle loads", "runpy run_path",
        "timeit timeit",
        "numpy load", "numpy.testing._private.utils runstring", "numpy.f2py compile",
        "collections namedtuple", "types CodeType", "types FunctionType", "ctypes CDLL",
        "clew load", "torch load", "torch.serialization load", "torch.hub load",
        "torch.nn.modules.module sys", "torch.nn.modules.module Tensor", "clew.source sys",
        "torch.nn.modules.linear Linear.__init__", "torch.nn.functional np",
        "torch.nn.functional sys", "torch.utils.data os", "torch.jit load",
        "torch.ops load_library",
        "torch.optim.adam Adam.__init__", "torch._utils _import_dotted_name",
        "clew.serialization.saving save", "clew.serialization.atomic replacing",
    ],
)  # fmt: skip
@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("stacked", [False, True])
def test_other_names_are_refused(name: str, weights_only: bool, stacked: bool) -> None:
    module, own = name.split(" ")
    if stacked:
        pieces = [b"\x8c" + bytes([len(text)]) + text.encode() for text in (module, own)]
        body = b"\x80\x04" + b"".join(pieces) + b"\x93."
    else:
        body = f"\x80\x02c{module}\n{own}\n.".encode("latin1")
    with nothing_runs(), pytest.raises(pickle.UnpicklingError) as caught:
        clew_load(archive_of(body), weights_only=weights_only)
    full = own if module in ("builtins", "__builtin__") else f"{module}.{own}"
    assert f"GLOBAL {full}" in str(caught.value)


def test_functions_are_values_and_not_called() -> None:
    call = b"\x80\x02ctorch.nn.functional\nrelu\nK\x01\x85R."
    with pytest.raises(pickle.UnpicklingError, match="Trying to call reduce for unrecognized"):
        clew_load(archive_of(call), weights_only=False)


@pytest.mark.parametrize(
    "state", [b"}X\x04\x00\x00\x00evilK\x01s", b"N}X\x04\x00\x00\x00evilK\x01s\x86"]
)
@pytest.mark.parametrize(
    "target",
    ["torch Tensor", "torch.nn.parameter Parameter", "torch.nn.modules.linear Linear",
     "torch.nn.functional relu", "torch._utils _rebuild_tensor_v2", "torch float32",
     "collections Counter", "argparse Namespace", "torch FloatStorage"],
)  # fmt: skip
def test_classes_and_functions_are_not_changed(target: str, state: bytes) -> None:
    module, name = target.split(" ")
    body = f"\x80\x02c{module}\n{name}\n".encode("latin1") + state + b"b."
    with pytest.raises(pickle.UnpicklingError):
        clew_load(archive_of(body), weights_only=False)
    assert not hasattr(clew.Tensor, "evil") and not hasattr(clew.nn.Linear, "evil")
    assert not hasattr(clew.nn.functional.relu, "evil")


def test_a_state_reaches_only_declared_slots() -> None:
    body = (
        b"\x80\x02cargparse\nNamespace\n)\x81N}X\x09\x00\x00\x00__class__"
        b"ctypes\nSimpleNamespace\ns\x86b."
    )
    with pytest.raises(pickle.UnpicklingError, match="has no slot '__class__'"):
        clew_load(archive_of(body), weights_only=False)


class Point:
    """A user's class with slots."""

    __slots__ = ("x", "y")

    def __init__(self, x: int, y: int) -> None:
        self.x, self.y = x, y


class Record:
    """A user's class with a state of its own."""

    def __init__(self) -> None:
        self.value = 1

    def __getstate__(self) -> Any:
        return [self.value]

    def __setstate__(self, state: Any) -> None:
        self.value = state[0] + 1


class Tagged(clew.Tensor):
    """A user's class of tensors."""


def test_classes_that_the_user_names() -> None:
    saved = {"point": Point(1, 2), "record": Record()}
    data = clew_bytes(saved)
    with pytest.raises(pickle.UnpicklingError, match=r"GLOBAL tests.*\.Point was not an allowed"):
        clew_load(data)
    clew.serialization.add_safe_globals([Point, Record, Record])
    try:
        assert clew.serialization.get_safe_globals() == [Point, Record]
        loaded = clew_load(data)
        assert (loaded["point"].x, loaded["point"].y, loaded["record"].value) == (1, 2, 2)
    finally:
        clew.serialization.clear_safe_globals()
    assert clew.serialization.get_safe_globals() == []
    renamed = data.replace(b"Point", b"Pxint")
    with safe_globals([(Point, f"{__name__}.Pxint"), Record]), pytest.raises(RuntimeError):
        clew_load(renamed)  # the checksum is wrong, whatever the names


def test_tensor_classes_that_the_user_names() -> None:
    data = clew_bytes(clew.ones(2).as_subclass(Tagged))
    with pytest.raises(pickle.UnpicklingError, match="Tagged was not an allowed global"):
        clew_load(data)
    with safe_globals([Tagged]):
        loaded = clew_load(data)
    assert type(loaded) is Tagged and loaded.tolist() == [1, 1]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_quantized_tensors_are_refused_by_name() -> None:
    data = torch_bytes(torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8))
    with pytest.raises(pickle.UnpicklingError, match=r"GLOBAL torch\.QInt8Storage"):
        clew_load(data)


# -- damage ----------------------------------------------------------------------------------------


def sample() -> bytes:
    return clew_bytes({"w": clew.arange(20.0), "b": [clew.tensor([1, 2]), "text", 3.5, {1: None}]})


def same_contents(loaded: Any) -> bool:
    return (
        list(loaded) == ["w", "b"]
        and loaded["w"].tolist() == list(range(20))
        and loaded["b"][0].tolist() == [1, 2]
        and loaded["b"][1:] == ["text", 3.5, {1: None}]
    )


@pytest.mark.parametrize("writer", ["clew", "torch"])
def test_one_flipped_bit_is_noticed_or_harmless(writer: str) -> None:
    good = sample()
    if writer == "torch":
        good = torch_bytes(torch_load(good))
    refused = 0
    for bit in range(8 * len(good)):
        damaged = bytearray(good)
        damaged[bit // 8] ^= 1 << (bit % 8)
        try:
            loaded = clew_load(bytes(damaged))
        except REFUSED as error:
            assert str(error)
            refused += 1
        else:
            assert same_contents(loaded), bit
    assert refused > 4000


@pytest.mark.parametrize("new_format", [True, False])
def test_every_truncation_is_refused(new_format: bool) -> None:
    good = clew_bytes(clew_load(sample()), _use_new_zipfile_serialization=new_format)
    for length in range(len(good)):
        with pytest.raises(REFUSED) as caught:
            clew_load(good[:length])
        if new_format and length > 4:
            assert str(caught.value).startswith("PytorchStreamReader failed reading zip archive: ")
    assert same_contents(clew_load(good))


def test_damage_has_pytorchs_words() -> None:
    good = sample()
    for damaged in (good[:100], good[:-30], good[: len(good) // 2]):
        texts = []
        for load in (clew_load, torch_load):
            with pytest.raises(RuntimeError) as caught:
                load(damaged)
            texts.append(" ".join(str(caught.value).split()[:9]))
        assert texts[0] == texts[1]
    wrong = bytearray(good)
    wrong[good.index(struct.pack("<2f", 5, 6))] ^= 1
    with pytest.raises(RuntimeError, match="failed reading file data/0: its checksum does not"):
        clew_load(bytes(wrong))


def test_a_flipped_bit_in_a_legacy_file_never_does_worse_than_an_error() -> None:
    good = clew_bytes(clew_load(sample()), _use_new_zipfile_serialization=False)
    for place in range(len(good)):
        damaged = bytearray(good)
        damaged[place] ^= 1 << (place % 8)
        try:
            clew_load(bytes(damaged), weights_only=False)
        except REFUSED as error:
            assert str(error)


_OPCODES = [opcode.code.encode("latin1") for opcode in pickletools.opcodes]
_NAMES = [
    b"ctorch._utils\n_rebuild_tensor_v2\n", b"ccollections\nOrderedDict\n",
    b"ctorch\nFloatStorage\n",
    b"ctorch._utils\n_rebuild_parameter\n", b"ctorch\nSize\n", b"c__builtin__\nset\n",
    b"c__builtin__\nbytearray\n", b"cnumpy\ndtype\n", b"cnumpy._core.multiarray\nscalar\n",
    b"cnumpy._core.multiarray\n_reconstruct\n", b"cnumpy\nndarray\n", b"ccollections\ndeque\n",
    b"ctorch.nn.modules.linear\nLinear\n", b"ctorch.nn.modules.container\nSequential\n",
    b"c__builtin__\nrange\n", b"ctorch\ndevice\n", b"ctorch._tensor\n_rebuild_from_type_v2\n",
    b"X\x07\x00\x00\x00storage", b"X\x01\x00\x00\x000", b"X\x03\x00\x00\x00cpu", b"K\x05", b"K\x01",
]  # fmt: skip


@settings(max_examples=600, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(
        st.one_of(st.sampled_from(_OPCODES), st.sampled_from(_NAMES),
                  st.binary(max_size=4)),
        max_size=40,
    )
)  # fmt: skip
def test_random_pickles_run_nothing(pieces: list[bytes]) -> None:
    data = archive_of(b"\x80\x02" + b"".join(pieces) + b".", _0=bytes(20))
    with nothing_runs():
        try:
            clew_load(data, weights_only=False)
        except REFUSED as error:
            assert str(error)


_MODULE_PICKLE = zipfile.ZipFile(
    io.BytesIO(torch_bytes([torch.nn.Linear(1, 2), np.arange(3), {1: torch.ones(2).t()}]))
).read("archive/data.pkl")


@settings(max_examples=600, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.tuples(st.integers(0, len(_MODULE_PICKLE) - 1), st.integers(0, 255)), max_size=4)
)
def test_changed_pickles_run_nothing(changes: list[tuple[int, int]]) -> None:
    body = bytearray(_MODULE_PICKLE)
    for place, value in changes:
        body[place] = value
    data = archive_of(bytes(body), _0=bytes(8), _1=bytes(8), _2=bytes(8))
    with nothing_runs():
        try:
            clew_load(data, weights_only=False)
        except REFUSED as error:
            assert str(error)


# -- other files -----------------------------------------------------------------------------------


def test_torchscript_is_refused(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as target:
        target.writestr("archive/data.pkl", b"\x80\x02N.")
        target.writestr("archive/constants.pkl", b"\x80\x02).")
    with pytest.raises(RuntimeError, match="Cannot use ``weights_only=True`` with TorchScript"):
        clew_load(buffer.getvalue(), weights_only=False)


@pytest.mark.parametrize(
    ("data", "error", "words"),
    [
        (b"", EOFError, "Ran out of input"),
        (b"hello, this is text", pickle.UnpicklingError, "Weights only load failed.*magic number"),
        (pickle.dumps({"a": 1}), pickle.UnpicklingError, "magic number"),
        (bytes(257) + b"ustar" + bytes(300), RuntimeError, "Cannot use ``weights_only=True`` with"),
        (archive_of(b""), pickle.UnpicklingError, "ends before its end was marked"),
        (archive_of(b"\x80\x02i"), pickle.UnpicklingError, "Unsupported operand 105"),
        (archive_of(b"\x80\x09N."), pickle.UnpicklingError, "unsupported pickle protocol: 9"),
        (archive_of(b"\x80\x02X\x01\x00\x00\x00xQ."), pickle.UnpicklingError,
         "Only persistent_load of storage is allowed"),
    ],
    # The bytes of an archive have the time in them: names made of them are not those of another
    # test process.
    ids=["nothing", "text", "pickle", "tar", "no pickle", "opcode", "protocol", "persistent id"],
)  # fmt: skip
def test_files_that_are_something_else(data: bytes, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        clew_load(data)


def test_a_zip_without_a_pickle() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as target:
        target.writestr("archive/version", b"3\n")
    with pytest.raises(RuntimeError, match=r"PytorchStreamReader failed locating file data\.pkl"):
        clew_load(buffer.getvalue())
    with zipfile.ZipFile(buffer, "w") as target:
        target.writestr("archive/data.pkl", b"\x80\x02N.")
        target.writestr("archive/version", b"11\n")
    with pytest.raises(RuntimeError, match="Attempted to read a PyTorch file with version 11"):
        clew_load(buffer.getvalue())


def test_wrong_arguments(tmp_path: Path) -> None:
    good, path = sample(), tmp_path / "x.pt"
    legacy = tmp_path / "legacy.pt"
    torch.save(1, legacy, _use_new_zipfile_serialization=False)
    calls: list[Any] = [
        lambda lib: lib.save(1, 3),
        lambda lib: lib.save(1, "/nonexistent/x.pt"),
        lambda lib: lib.load(None),
        lambda lib: lib.load(tmp_path / "missing.pt"),
        lambda lib: lib.load(tmp_path),
        lambda lib: lib.load(io.BytesIO(good), mmap=True),
        lambda lib: lib.load(legacy, mmap=True),
        lambda lib: lib.load(io.BytesIO(good), pickle_module=pickle, weights_only=True),
        lambda lib: lib.load(io.BytesIO(b"")),
        lambda lib: lib.save(collections, io.BytesIO()),
    ]
    for call in calls:
        errors = []
        for lib in (clew, torch):
            with pytest.raises(Exception) as caught:  # compared below
                call(lib)
            errors.append(caught.value)
        assert type(errors[0]) is type(errors[1])
        words = str(errors[1]).split("\n")[0]
        assert str(errors[0]).startswith(words[:60]) or "seek" in words, (errors[0], words)
    assert clew.load(io.BytesIO(good), pickle_module=pickle)["b"][1] == "text"
    with pytest.raises(ValueError, match=r"pickle_module=.*Leave pickle_module out"):
        clew.save(1, path, pickle_module=collections)
    with pytest.raises(TypeError, match="cannot pickle 'module' object"):
        clew.save(collections, path)
    with pytest.raises(RuntimeError, match="Can not safely load weights when explicit"):
        clew.load(io.BytesIO(good), pickle_module=collections)
    with pytest.raises(TypeError, match="unexpected keyword argument 'wat'"):
        clew.load(io.BytesIO(good), wat=1)
    assert not path.exists()
