"""Objects of the program's own classes: which ones `load` makes, and which it refuses."""

from __future__ import annotations

import copy
import dataclasses
import importlib.util
import io
import pickle
import sys
import tempfile
import types
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import clew
from tests.saving import archive_of, clew_bytes, clew_load, torch_bytes
from tests.twice import twice


@dataclasses.dataclass(frozen=True)
class Config:
    width: int = 3
    names: tuple[str, ...] = ("a",)


class Net(clew.nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.layer = clew.nn.Linear(2, config.width)

    class Inner(clew.nn.ReLU):
        pass


class Pairs(clew.utils.data.Dataset):
    def __init__(self, n: int) -> None:
        self.n = n


class Warmup(clew.optim.SGD):
    pass


class OnDeletion:
    def __del__(self) -> None:
        LEFT.append(self.__dict__)


class WithState:
    def __setstate__(self, state: Any) -> None:
        LEFT.append(state)


class Meta(type):
    pass


class OfMeta(metaclass=Meta):
    pass


class Made:
    def __new__(cls, *args: Any) -> Made:
        LEFT.append(args)
        return super().__new__(cls)


class Failing(Exception):
    pass


LEFT: list[Any] = []


def test_classes_of_the_program_are_made_empty() -> None:
    model = Net(Config(4))
    optimizer = Warmup(model.parameters(), lr=0.5)
    saved = {"model": model, "data": Pairs(7), "inner": Net.Inner(), "optimizer": optimizer}
    data = clew_bytes(saved, pickle_protocol=4)
    with pytest.raises(pickle.UnpicklingError, match="GLOBAL"):
        clew_load(data)
    loaded = clew_load(data, weights_only=False)
    assert [type(value) for value in loaded.values()] == [Net, Pairs, Net.Inner, Warmup]
    assert loaded["model"].config == Config(4) and loaded["data"].n == 7
    weights = loaded["model"].layer.weight
    assert clew.equal(weights, model.layer.weight)
    assert loaded["optimizer"].param_groups[0]["params"][0] is weights


@pytest.mark.parametrize("kind", [OnDeletion, WithState, OfMeta, Made, Failing])
def test_classes_whose_making_runs_code_are_refused(kind: type) -> None:
    data = clew_bytes(kind())
    LEFT.clear()
    with pytest.raises(pickle.UnpicklingError, match=f"{kind.__name__} was not an allowed global"):
        clew_load(data, weights_only=False)
    assert LEFT == []


@pytest.mark.parametrize(
    "name",
    ["subprocess Popen", "tempfile _TemporaryFileCloser", "string Template", "clew.source Where",
     "torch Tensor_", "torch.nn.modules.module _Global", "tests.serialization.not_there Net",
     f"{__name__} io", f"{__name__} twice", f"{__name__} Net.forward", f"{__name__} Config.width",
     f"{__name__} pickle.Unpickler", f"{__name__} Iterator"],
)  # fmt: skip
def test_other_names_are_refused(name: str) -> None:
    module, own = name.split(" ")
    body = f"\x80\x02c{module}\n{own}\n)\x81.".encode("latin1")
    with pytest.raises(pickle.UnpicklingError, match="GLOBAL"):
        clew_load(archive_of(body), weights_only=False)


def test_nothing_is_imported(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "lazily.py").write_text(
        "import sys\nsys.ran = True\n\ndef __getattr__(name):\n    raise SystemExit(name)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    body = b"\x80\x02clazily\nNet\n)\x81."
    with pytest.raises(pickle.UnpicklingError, match="once the module that defines it is imported"):
        clew_load(archive_of(body), weights_only=False)
    assert "lazily" not in sys.modules
    importlib.import_module("lazily")
    with pytest.raises(pickle.UnpicklingError, match=r"GLOBAL lazily\.Net"):
        clew_load(archive_of(body), weights_only=False)
    del sys.modules["lazily"]


SOURCES = [
    "import {lib}\n\nclass Net({lib}.nn.Module):\n    def __init__(self):\n"
    "        super().__init__()\n        self.layer = {lib}.nn.Linear(2, {width})\n"
]


@pytest.fixture
def module(tmp_path: Path) -> Iterator[Any]:
    def make(lib: Any, width: int) -> types.ModuleType:
        path = tmp_path / f"changing{width}.py"
        path.write_text(SOURCES[0].format(lib=lib.__name__, width=width))
        spec = importlib.util.spec_from_file_location("changing", path)
        assert spec is not None and spec.loader is not None
        made = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(made)
        sys.modules["changing"] = made
        return made

    yield make
    sys.modules.pop("changing", None)


@pytest.mark.parametrize(
    ("lib", "saved_by"), [(clew, clew), (clew, torch), (torch, torch)], ids=str
)
def test_the_legacy_format_has_the_source(module: Any, lib: Any, saved_by: Any) -> None:
    save = torch_bytes if saved_by is torch else clew_bytes
    kind = module(saved_by, 2).Net
    data = save([kind(), kind()], _use_new_zipfile_serialization=False)
    found = []
    for width in (2, 3):
        module(saved_by if lib is torch else clew, width)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            loaded = lib.load(io.BytesIO(data), weights_only=False)
        assert [type(each).__name__ for each in loaded] == ["Net", "Net"]
        found.append([w.category.__name__ for w in caught])
    # A class written for PyTorch has another first line than the one that clew finds here.
    same_text = lib is saved_by
    assert found == [[] if same_text else ["SourceChangeWarning"], ["SourceChangeWarning"]]


# -- classes of tensors ----------------------------------------------------------------------------


def _classes(lib: Any) -> tuple[type, type]:
    """A class with slots around a tensor without memory, and one with a state of its own."""

    class Wrapper(lib.Tensor):
        __slots__ = ["elem", "other"]

        @staticmethod
        def __new__(cls: Any, elem: Any) -> Any:
            made = lib.Tensor._make_subclass(cls, elem.to("meta"), elem.requires_grad)
            made.elem = elem
            return made

        def clone(self) -> Any:
            return type(self)(self.elem.clone())

    class Own(lib.Tensor):
        def __getstate__(self) -> Any:
            return "own", self.__dict__

        def __setstate__(self, state: Any) -> None:
            marker, self.__dict__ = state
            self.marker = marker

    # Pickle finds classes by their names.
    for kind in (Wrapper, Own):
        kind.__module__, kind.__qualname__ = __name__, f"{kind.__name__}_{lib.__name__}"
        globals()[kind.__qualname__] = kind
    return Wrapper, Own


@twice
def test_slots_and_states_of_tensor_classes(lib: Any) -> Any:
    wrapper_class, own_class = _classes(lib)
    wrapper = wrapper_class(lib.arange(2.0))
    wrapper.label = "inside"
    own = lib.ones(2).as_subclass(own_class)
    own.label = "outside"
    with tempfile.TemporaryFile() as file, lib.serialization.safe_globals([*_added(lib)]):
        lib.save([wrapper, own], file)
        file.seek(0)
        first, second = lib.load(file)
    copied = copy.deepcopy(wrapper)
    return [
        *(x.elem.tolist() for x in (first, copied)),
        *(x.label for x in (first, second, copied)),
        *(hasattr(x, "other") for x in (first, copied)),
        second.marker,
        copied.elem is wrapper.elem,
        type(first) is wrapper_class,
        type(copied) is wrapper_class,
    ]


def _added(lib: Any) -> list[type]:
    return [globals()[f"{name}_{lib.__name__}"] for name in ("Wrapper", "Own")]


def test_copies_and_pickles_keep_slots() -> None:
    class Slotted(clew.Tensor):
        __slots__ = ["note"]

    Slotted.__qualname__, Slotted.__module__ = "Slotted", __name__
    globals()["Slotted"] = Slotted
    tensor = clew.ones(2).as_subclass(Slotted)
    tensor.note, tensor.other = [1], 2
    for result in (
        copy.copy(tensor), copy.deepcopy(tensor), pickle.loads(pickle.dumps(tensor)),
    ):  # fmt: skip
        assert (type(result), result.note, result.other) == (Slotted, [1], 2)
    assert copy.copy(tensor).note is tensor.note
    assert copy.deepcopy(tensor).note is not tensor.note


def test_wrappers_without_clone_of_their_own() -> None:
    class Bare(clew.Tensor):
        def clone(self) -> Any:
            return clew.ones(2)

    wrapper = clew.Tensor._make_subclass(Bare, clew.ones(2, device="meta"))
    with pytest.raises(RuntimeError, match="only works for subclass types that implement clone"):
        copy.deepcopy(wrapper)
