"""Modules and optimizers in files: state dicts, whole objects, checkpoints of a training run."""

from __future__ import annotations

import collections
import importlib
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch

import clew
from tests.oracle import assert_same
from tests.saving import clew_bytes, clew_load, torch_bytes, torch_load


def make_model(lib: Any) -> Any:
    return lib.nn.Sequential(
        lib.nn.Linear(4, 8), lib.nn.BatchNorm1d(8), lib.nn.ReLU(), lib.nn.Dropout(0.5),
        lib.nn.Linear(8, 3),
    )  # fmt: skip


def test_state_dicts_keep_their_metadata() -> None:
    mine, theirs = make_model(clew), make_model(torch)
    state = torch_load(clew_bytes(mine.state_dict()), weights_only=True)
    assert state._metadata == mine.state_dict()._metadata == theirs.state_dict()._metadata
    theirs.load_state_dict(state)
    loaded = clew_load(torch_bytes(theirs.state_dict()))
    assert isinstance(loaded, collections.OrderedDict)
    assert loaded._metadata == theirs.state_dict()._metadata
    assert_same(dict(mine.state_dict()), dict(loaded | {}) and dict(theirs.state_dict()))
    assert str(mine.load_state_dict(loaded)) == "<All keys matched successfully>"


def test_whole_modules_go_both_ways() -> None:
    theirs = make_model(torch).eval()
    mine = clew_load(torch_bytes(theirs), weights_only=False)
    values = torch.randn(5, 4)
    assert repr(mine) == repr(theirs)
    assert_same(mine(clew.tensor(values.numpy())), theirs(values))
    back = torch_load(clew_bytes(mine), weights_only=False)
    assert_same(mine(clew.tensor(values.numpy())), back(values))
    assert not mine.training and [type(p).__name__ for p in mine.parameters()] == ["Parameter"] * 6


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda nn: nn.LSTM(3, 4, num_layers=2, bidirectional=True), (5, 2, 3)),
        (lambda nn: nn.TransformerEncoderLayer(8, 2, 16, activation="gelu"), (5, 2, 8)),
        (lambda nn: nn.Sequential(nn.Conv2d(3, 4, 3), nn.GroupNorm(2, 4)), (2, 3, 6, 6)),
        (lambda nn: nn.GRUCell(3, 4), (2, 3)),
    ],
)
def test_whole_modules_of_pytorch_compute_the_same(make: Any, shape: tuple[int, ...]) -> None:
    theirs = make(torch.nn).eval()
    mine = clew_load(torch_bytes(theirs), weights_only=False)
    values = torch.randn(shape)
    with torch.no_grad(), clew.no_grad():
        expected = theirs(values)
        assert_same(mine(clew.tensor(values.numpy())), expected, 1e-4, 1e-5)
        again = clew_load(clew_bytes(mine), weights_only=False)
        assert_same(again(clew.tensor(values.numpy())), expected, 1e-4, 1e-5)


def test_optimizers_schedulers_and_datasets_load_whole() -> None:
    weight = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([weight], lr=0.5, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    data = torch.utils.data.Subset(torch.utils.data.TensorDataset(torch.arange(4)), [1, 3])
    saved = torch_bytes({"optimizer": optimizer, "scheduler": scheduler, "data": data})
    loaded = clew_load(saved, weights_only=False)
    assert repr(loaded["optimizer"]) == repr(optimizer)
    assert loaded["scheduler"].optimizer is loaded["optimizer"]
    assert [item[0].item() for item in loaded["data"]] == [1, 3]
    mine = loaded["optimizer"].param_groups[0]["params"][0]
    mine.grad = clew.ones(2)
    loaded["optimizer"].step()
    assert mine.tolist() == [0.5, 0.5]


def test_whole_modules_are_refused_without_being_asked_for() -> None:
    data = clew_bytes(make_model(clew))
    for load in (clew_load, torch_load):
        with pytest.raises(pickle.UnpicklingError) as caught:
            load(data)
        assert str(caught.value).startswith("Weights only load failed.")
        assert "GLOBAL torch.nn.modules.container.Sequential was not an allowed" in str(
            caught.value
        )


def test_files_name_classes_as_pytorch_does() -> None:
    count = 0
    for package in ("nn", "optim", "optim.lr_scheduler", "utils.data", "distributions"):
        theirs = vars(importlib.import_module(f"torch.{package}"))
        for name, kind in vars(importlib.import_module(f"clew.{package}")).items():
            is_shared = isinstance(kind, type) and isinstance(theirs.get(name), type)
            if is_shared and not name.startswith("_") and name != "LinearCrossEntropyOptions":
                data = clew_bytes(kind)
                assert torch_load(data, weights_only=False) is theirs[name], name
                if kind.__module__.startswith("clew.") and not issubclass(kind, clew.Tensor):
                    assert clew_load(data, weights_only=False) is kind, name
                    count += 1
    assert count > 150


def test_lazy_modules_before_their_first_call() -> None:
    for lib, save, load in ((torch, torch_bytes, clew_load), (clew, clew_bytes, torch_load)):
        state = load(save(lib.nn.LazyLinear(3).state_dict()), weights_only=False)
        assert repr(state["weight"]).strip() == "<UninitializedParameter>"


class Net(clew.nn.Module):
    """A user's model."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = clew.nn.Linear(2, 2)
        self.activation = clew.nn.functional.relu

    def forward(self, x: Any) -> Any:
        return self.activation(self.layer(x))


def test_a_users_module_loads_without_weights_only_or_once_it_is_named() -> None:
    model = Net()
    data = clew_bytes(model)
    for weights_only in (None, True):
        with pytest.raises(pickle.UnpicklingError, match=r"GLOBAL tests\..*test_modules\.Net"):
            clew_load(data, weights_only=weights_only)
    with clew.serialization.safe_globals([Net]):
        named = clew_load(data, weights_only=False)
    assert clew.serialization.get_safe_globals() == []
    values = clew.randn(3, 2)
    for loaded in (named, clew_load(data, weights_only=False)):
        assert clew.equal(loaded(values), model(values))
        assert loaded.activation is clew.nn.functional.relu


def test_checkpoints_of_a_training_run() -> None:
    def run(lib: Any, save: Callable[..., bytes], load: Callable[..., Any]) -> Any:
        lib.manual_seed(0)
        model = lib.nn.Linear(3, 1)
        optimizer = lib.optim.Adam(model.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            model(lib.ones(2, 3)).sum().backward()
            optimizer.step()
        checkpoint = {
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "epoch": 3,
            "rng": lib.get_rng_state(),
        }
        return load(save(checkpoint))

    to_torch, from_torch = run(clew, clew_bytes, torch_load), run(torch, torch_bytes, clew_load)
    assert_same(dict(from_torch["model"]), dict(to_torch["model"]))
    assert_same(from_torch["optimizer"]["state"], to_torch["optimizer"]["state"])
    assert_same(from_torch["rng"], to_torch["rng"])
    optimizer = clew.optim.Adam(clew.nn.Linear(3, 1).parameters())
    optimizer.load_state_dict(from_torch["optimizer"])
    assert optimizer.param_groups[0]["lr"] == 0.1
    theirs = torch.optim.Adam(torch.nn.Linear(3, 1).parameters())
    theirs.load_state_dict(to_torch["optimizer"])


def test_plain_pickle_of_parameters_and_modules() -> None:
    model = make_model(clew)
    copied = pickle.loads(pickle.dumps(model))
    assert repr(copied) == repr(model)
    assert isinstance(copied[0].weight, clew.nn.Parameter) and copied[0].weight.requires_grad
    for mine, theirs in zip(model.parameters(), copied.parameters()):
        assert clew.equal(mine, theirs)
