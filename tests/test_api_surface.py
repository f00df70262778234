"""The names of PyTorch that programs use exist, with the keyword arguments they are called with."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

import clew

DATA = Path(__file__).parent / "data" / "api_surface.txt"

# What clew does not have, with all that is below it, and why.
ABSENT = {
    "Tensor.index": "not a documented method: the counted calls are those of lists and strings",
}

MISSING = object()

# Keywords of which PyTorch reads another name as well.
OTHER_NAMES = {"axis": "dim", "keepdims": "keepdim"}


class Use(NamedTuple):
    kind: str
    owners: tuple[str, ...]
    name: str
    keywords: tuple[str, ...]

    @property
    def title(self) -> str:
        return f"Tensor.{self.name}" if self.kind in ("method", "attribute") else self.name


def read_uses() -> Iterator[Use]:
    for line in DATA.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            kind, *words = line.split()
            owners = words.pop(0).split(",") if kind == "member" else []
            yield Use(kind, tuple(owners), words[0], tuple(words[1:]))


USES = tuple(read_uses())


def find(name: str) -> Any:
    """`torch.x.y` in clew; modules on the way are imported, as programs import them."""
    found: Any = clew
    path = "clew"
    for part in name.split(".")[1:]:
        path = f"{path}.{part}"
        try:
            found = getattr(found, part)
        except AttributeError:
            try:
                found = importlib.import_module(path)
            except ModuleNotFoundError:
                return MISSING
    return found


def objects(use: Use) -> list[Any]:
    """What the use refers to in clew; a member may belong to several classes."""
    if use.kind in ("method", "attribute"):
        return [getattr(clew.Tensor, use.name, MISSING)]
    if use.kind == "member":
        model = clew.nn.Linear(1, 1)
        owners = {
            "Module": model,
            "Optimizer": clew.optim.SGD(model.parameters(), 0.1),
            "Distribution": clew.distributions.Distribution(validate_args=False),
        }
        return [getattr(owners[owner], use.name, MISSING) for owner in use.owners]
    return [find(use.name)]


def absence(use: Use) -> str | None:
    """The entry of ABSENT that a use falls under."""
    title = use.title
    while title:
        if title in ABSENT:
            return title
        title = title.rpartition(".")[0]
    return None


def accepts(function: Any, name: str, keyword: str) -> bool:
    parameters = inspect.signature(function).parameters
    named = {keyword, OTHER_NAMES.get(keyword)} & set(parameters)
    open_ended = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
    original = getattr(clew.Tensor, name.removesuffix("_"), None)
    if open_ended and name.endswith("_") and original is not None:
        # In-place methods pass everything on to the function they are derived from.
        return accepts(original, name[:-1], keyword)
    return bool(named) or open_ended or keyword == "out"


def test_every_name_exists_or_is_known_to_be_absent() -> None:
    missing = [use for use in USES if any(each is MISSING for each in objects(use))]
    unexpected = [use.title for use in missing if absence(use) is None]
    assert unexpected == []
    # Whatever is not missing any more has to leave the list.
    assert {absence(use) for use in missing} == set(ABSENT)


def test_every_keyword_is_accepted() -> None:
    refused = [
        f"{use.title}({keyword}=)"
        for use in USES
        if absence(use) is None
        for keyword in use.keywords
        if not any(accepts(each, use.name.split(".")[-1], keyword) for each in objects(use))
    ]
    assert refused == []


@pytest.mark.parametrize(
    "use",
    [use for use in USES if use.kind == "module" and absence(use) is None],
    ids=lambda u: u.name,
)
def test_modules_can_be_imported(use: Use) -> None:
    importlib.import_module(use.name.replace("torch", "clew", 1))


@pytest.mark.parametrize(
    "name",
    [use.name for use in USES if use.kind == "method" and {"axis", "keepdims"} & set(use.keywords)],
)
def test_methods_take_numpys_names_of_arguments(name: str) -> None:
    values = np.array([[0.25, 2.0, 1.0], [0.5, 0.75, 3.0]])
    keywords: dict[str, Any] = {"axis": 1}
    if name != "softmax":
        keywords["keepdims"] = True
    mine = getattr(clew.tensor(values), name)(**keywords)
    theirs = getattr(torch.tensor(values), name)(**keywords)
    for result, expected in zip(
        mine if isinstance(mine, tuple) else [mine],
        theirs if isinstance(theirs, tuple) else [theirs],
        strict=True,
    ):
        np.testing.assert_allclose(result.numpy(), expected.numpy())


def test_functions_take_numpys_names_of_arguments() -> None:
    x = clew.arange(6.0).reshape(2, 3)
    assert clew.cat([x, x], axis=1).shape == (2, 6)
    assert [part.shape for part in clew.chunk(x, 3, axis=1)] == [(2, 1)] * 3
    assert clew.argmax(x, axis=1).tolist() == [2, 2]
    assert clew.cumprod(x, axis=0).tolist() == torch.cumprod(torch.tensor(x.numpy()), 0).tolist()


def test_functions_write_to_out() -> None:
    x = clew.tensor([[1.0, 4.0], [9.0, 16.0]])
    for call in (
        lambda out: clew.matmul(x, x, out=out),
        lambda out: clew.rsqrt(x, out=out),
        lambda out: clew.mul(x, x, out=out),
        lambda out: clew.maximum(x, x.t(), out=out),
        lambda out: clew.eye(2, out=out),
        lambda out: clew.rand(2, 2, out=out),
        lambda out: clew.arange(4.0, out=out),
    ):
        out = clew.empty(0)
        assert call(out) is out
        assert out.numel() == 4
    values, indices = clew.empty(0), clew.empty(0, dtype=clew.long)
    clew.max(x, 1, out=(values, indices))
    assert values.tolist() == [4.0, 16.0]
    assert indices.tolist() == [1, 1]


def test_types_for_annotations_can_be_subscripted() -> None:
    assert clew.utils.data.Dataset[int] is not None
    assert clew.utils.data.DataLoader[int] is not None
    assert clew.utils.data.Sampler[int] is not None
    assert isinstance(clew.ones(1), clew.FloatTensor)
    assert clew.Tensor | None
    assert clew.optim.Optimizer | clew.nn.Module
