"""The module path: where a module sits in its model, and what errors say about it."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
from typing import Any

import pytest

import clew
from clew import nn
from clew.core.state import current
from clew.nn.modules import paths


class Asks(nn.Module):
    """Returns the path that is set while it runs."""

    def forward(self, *args: Any) -> str | None:
        return current().module_path


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Asks()
        self.proj = nn.Linear(4, 3)

    def forward(self, x: Any = None) -> Any:
        return self.inner() if x is None else self.proj(x)


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([Block() for _ in range(2)])
        self.named = nn.ModuleDict({"head": Asks()})

    def forward(self, x: Any = None) -> list[Any]:
        return [block(x) for block in self.blocks]


def test_the_path_leads_from_the_root() -> None:
    m = Model()
    assert m() == ["blocks.0.inner", "blocks.1.inner"]
    assert m.blocks[1]() == "blocks.1.inner"
    assert m.named["head"]() == "named.head"
    assert Asks()() == "Asks"
    assert current().module_path is None


def test_the_path_follows_registrations() -> None:
    block = Block()
    assert block() == "inner"
    m = nn.Sequential(nn.Identity(), block)
    assert block() == "1.inner"
    outer = nn.ModuleDict({"stack": m})
    assert block() == "stack.1.inner"
    del m[0]
    assert block() == "stack.0.inner"
    m.insert(0, nn.Identity())
    assert block() == "stack.1.inner"
    outer["stack"] = nn.Identity()
    assert block() == "1.inner"
    holder = nn.Module()
    holder.renamed = block
    assert block() == "renamed.inner"
    del holder.renamed
    assert block() == "inner"
    assert m.pop(1) is block
    assert m.extend([block]) is m and block() == "1.inner"
    m[1] = nn.Identity()
    assert block() == "inner"
    block.inner = Asks()
    assert block() == "inner"


def test_the_path_of_a_module_without_its_owner() -> None:
    inner = Model().blocks[0]
    assert inner() == "inner"


def test_a_cycle_of_modules_has_a_path() -> None:
    parent, child = nn.Module(), Asks()
    parent.child = child
    child.parent = parent
    assert child().endswith("child")


def test_copies_have_paths_of_their_own() -> None:
    m = Model()
    m()
    twin = copy.deepcopy(m)
    assert twin() == ["blocks.0.inner", "blocks.1.inner"]
    del m
    loaded = nn.Sequential(pickle.loads(pickle.dumps(twin.blocks[1])))
    assert loaded[0]() == "0.inner"
    shallow = copy.copy(twin)
    del shallow
    assert twin.blocks[0]() == "blocks.0.inner"


class Unaware(Asks):
    """Restores itself without the base class."""

    def __setstate__(self, state: Any) -> None:
        self.__dict__.update(state)


def test_a_module_that_restores_itself_has_a_path() -> None:
    assert pickle.loads(pickle.dumps(Unaware()))() == "Unaware"
    copied = copy.deepcopy(nn.ModuleList([Unaware()]))
    assert copied[0]() == "0"


class Wraps(nn.Module):
    """Looks everything up in the module inside."""

    def __init__(self, module: Any) -> None:
        super().__init__()
        self.module = module

    def __getattr__(self, name: str) -> Any:
        inner = super().__getattr__("module")
        return inner if name == "module" else getattr(inner, name)

    def forward(self) -> Any:
        return current().module_path, self.module()


def test_a_wrapper_has_its_own_path() -> None:
    inner = nn.ModuleList([Asks()])[0]
    inner()
    assert Wraps(inner)() == ("Wraps", "module")


def test_the_path_is_not_part_of_the_state() -> None:
    m = Model()
    m()
    assert not {"_owner", "_path"} & set(m.blocks[0].__dict__)
    assert m.__getstate__().keys() == m.__dict__.keys()


def test_the_path_is_restored_after_an_error() -> None:
    class Fails(nn.Module):
        def forward(self) -> None:
            raise KeyError("own")

    m = nn.Sequential(nn.Identity())
    m.fails = Fails()
    with pytest.raises(KeyError) as caught:
        m.fails()
    assert str(caught.value) == "'own'"
    assert current().module_path is None


def test_threads_have_their_own_path() -> None:
    seen: list[Any] = []

    class Waits(nn.Module):
        def forward(self) -> None:
            thread = threading.Thread(target=lambda: seen.append(current().module_path))
            thread.start()
            thread.join()

    Waits()()
    assert seen == [None]


def test_nodes_know_the_module() -> None:
    m = nn.Sequential(nn.Linear(2, 2), nn.Flatten())
    out = m(clew.ones(1, 2))
    assert m[0](clew.ones(1, 2)).grad_fn.module_path == "0"
    assert (out * 2).grad_fn.module_path is None


def test_an_error_in_backward_names_the_module() -> None:
    class Writes(nn.Module):
        def forward(self, x: Any) -> Any:
            y = x.exp()
            y.add_(1)
            return y

    m = nn.Sequential(nn.Linear(2, 2), Writes())
    with pytest.raises(RuntimeError, match="in module 1"):
        m(clew.ones(1, 2)).sum().backward()


# -- errors ----------------------------------------------------------------------------------------


def text_of(call: Any, *args: Any, **kwargs: Any) -> str:
    with pytest.raises(Exception) as caught:
        call(*args, **kwargs)
    return str(caught.value)


def test_a_wrong_linear_says_where_and_what() -> None:
    text = text_of(Model(), clew.ones(2, 5))
    assert text.startswith("mat1 and mat2 shapes cannot be multiplied (2x5 and 4x3)")
    assert "in module blocks.0.proj: Linear(in_features=4, out_features=3, bias=True)" in text
    assert "the last dimension of its input [2, 5] is 5, and must be in_features=4" in text
    assert text.count("in module") == 1


def test_a_wrong_dtype_says_what_to_write() -> None:
    text = text_of(Model(), clew.ones(2, 4, dtype=clew.float64))
    assert "in module blocks.0.proj" in text
    assert "x.to(torch.float32)" in text


def test_errors_in_forward_name_the_users_module() -> None:
    class Adds(nn.Module):
        def forward(self, a: Any, *, b: Any) -> Any:
            return a + b

    m = nn.ModuleDict({"adds": Adds()})
    text = text_of(m["adds"], clew.ones(2), b=clew.ones(3))
    assert text.startswith("The size of tensor a (2) must match the size of tensor b (3)")
    assert "in module adds: Adds\n  called with [2], b=[3]" in text


def test_the_error_knows_its_module() -> None:
    with pytest.raises(RuntimeError) as caught:
        Model()(clew.ones(2, 5))
    assert caught.value.module_path == "blocks.0.proj"


@pytest.mark.parametrize("kind", [RuntimeError, ValueError, TypeError, IndexError])
def test_the_users_own_errors_stay_as_they_are(kind: type[Exception]) -> None:
    class Raises(nn.Module):
        def forward(self) -> None:
            raise kind("own words")

    assert text_of(nn.ModuleList([Raises()])[0]) == "own words"


def test_a_failing_extra_repr_hides_nothing() -> None:
    class Broken(nn.Module):
        def forward(self, x: Any) -> Any:
            return x @ x

        def extra_repr(self) -> str:
            raise ValueError("in extra_repr")

    text = text_of(Broken(), clew.ones(2, 3))
    assert text.startswith("mat1 and mat2") and "in module Broken" in text


def test_hooks_run_inside_the_path() -> None:
    m = nn.Sequential(nn.Linear(2, 2))
    seen: list[Any] = []
    m[0].register_forward_hook(lambda *args: seen.append(current().module_path))
    m(clew.ones(1, 2))
    assert seen == ["0"]
    assert "in module 0" in text_of(m, clew.ones(1, 3))


def test_places_end_with_their_modules() -> None:
    gc.collect()
    before = len(paths._places), len(paths.known)
    m = Model()
    m()
    assert len(paths._places) > before[0] and len(paths.known) > before[1]
    del m
    gc.collect()
    assert (len(paths._places), len(paths.known)) <= before
