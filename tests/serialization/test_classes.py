"""Objects of every class that clew exports: saved here, loaded in processes that only import clew.

The classes are found in the package: one that is added later is tested, too, or the test asks for
the arguments to make it.
"""

from __future__ import annotations

import inspect
import io
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
import torch.nn.utils.prune

import clew
import clew.amp
import clew.cpu.amp
import clew.cuda.amp
import clew.distributions
import clew.nn.utils.prune
import clew.nn.utils.rnn
import clew.ops.define.return_types
import clew.optim.lr_scheduler
import clew.optim.swa_utils
import clew.utils.data
import clew.utils.data.distributed
from clew.serialization import names
from tests import distribution_cases
from tests.describing import Halving, described

Objects = dict[str, Any]

# What the arguments that a class demands may be, by their names.
ARGUMENTS: dict[str, Any] = {
    "in_features": 4, "out_features": 4, "in1_features": 2, "in2_features": 3, "in_channels": 4,
    "out_channels": 4, "kernel_size": 2, "num_features": 4, "num_channels": 4, "num_groups": 2,
    "normalized_shape": 4, "num_embeddings": 5, "embedding_dim": 3, "input_size": 3,
    "hidden_size": 2, "output_size": 2, "padding": 1, "upscale_factor": 2, "downscale_factor": 2,
    "size": 3, "d_model": 4, "nhead": 2, "num_layers": 1, "embed_dim": 4, "num_heads": 2,
    "threshold": 0.5, "value": 1.0, "dim": 1, "unflattened_size": (2, 2), "n_classes": 20,
    "cutoffs": [5, 10], "block_size": 2, "num_classes": 4, "lr": 0.1,
    "groups": 2, "norm_type": 2.0, "mode": "LSTM", "bias": True, "num_chunks": 4,
}  # fmt: skip


def all_classes(*modules: ModuleType) -> Iterator[type]:
    """The classes that modules export, each once."""
    found: dict[type, None] = {}
    for module in modules:
        for name in dir(module):
            value = getattr(module, name)
            if isinstance(value, type) and value.__module__.startswith("clew."):
                found[value] = None
    yield from found


def made(cls: type, **given: Any) -> Any:
    """An object, from the arguments that its class demands."""
    parameters = list(inspect.signature(cls).parameters.values())
    demanded = [
        p.name for p in parameters if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD
    ]
    table = {**ARGUMENTS, **given}
    return cls(*[table[name] for name in demanded])


def modules(lib: Any) -> Objects:
    """One module of each class."""
    nn = lib.nn
    layer = {"d_model": 4, "nhead": 2, "dim_feedforward": 4}
    special: dict[str, Callable[[], Any]] = {
        "TransformerEncoder": lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(**layer), 1),
        "TransformerDecoder": lambda: nn.TransformerDecoder(nn.TransformerDecoderLayer(**layer), 1),
        "Transformer": lambda: nn.Transformer(4, 2, 1, 1, 4),
        "Sequential": lambda: nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.BatchNorm1d(2)),
        "ModuleList": lambda: nn.ModuleList([nn.Linear(1, 1)]),
        "ModuleDict": lambda: nn.ModuleDict({"a": nn.Linear(1, 1)}),
        "ParameterList": lambda: nn.ParameterList([lib.ones(2)]),
        "ParameterDict": lambda: nn.ParameterDict({"a": lib.ones(2)}),
        "FractionalMaxPool2d": lambda: nn.FractionalMaxPool2d(2, output_size=1),
        "FractionalMaxPool3d": lambda: nn.FractionalMaxPool3d(2, output_size=1),
        **{name: partial(getattr(nn, name), 3, 2) for name in ("RNN", "LSTM", "GRU")},
        "RNNBase": lambda: nn.RNNBase("LSTM", 3, 2),
        "RNNCellBase": lambda: nn.RNNCellBase(3, 2, True, 4),
        "DataParallel": lambda: nn.DataParallel(nn.Linear(1, 1)),
        "LinearCrossEntropyLoss": lambda: nn.LinearCrossEntropyLoss(4, 3),
    }
    result: Objects = {}
    for name in dir(clew.nn):
        cls = getattr(clew.nn, name)
        if isinstance(cls, type) and issubclass(cls, clew.nn.Module) and hasattr(lib.nn, name):
            result[name] = special[name]() if name in special else made(getattr(nn, name))
    pruned = nn.utils.prune.l1_unstructured(nn.Linear(3, 3), "weight", 1)
    result["pruned"] = nn.utils.prune.random_unstructured(pruned, "weight", 1)
    result["weight_norm"] = nn.utils.weight_norm(nn.Linear(2, 2))
    result["spectral_norm"] = nn.utils.spectral_norm(nn.Linear(2, 2))
    result["activation"] = nn.TransformerEncoderLayer(**layer, activation=nn.functional.gelu)
    return result


def stepped(lib: Any, cls: type, **how: Any) -> Any:
    """An optimizer with a state."""
    param = lib.nn.Parameter(lib.tensor([[1.0, 2.0], [3.0, 4.0]]))
    optimizer = made(cls, params=[param], **how)
    param.grad = lib.ones(2, 2)
    if cls.__name__ != "SparseAdam":
        optimizer.step(lambda: param.sum())
    return optimizer


def optimizers(lib: Any) -> Objects:
    return {
        name: stepped(lib, getattr(lib.optim, name))
        for name in dir(clew.optim)
        if isinstance(getattr(clew.optim, name), type) and name != "Optimizer"
    }


def schedulers(lib: Any) -> Objects:
    """One of each class, some epochs on."""
    kinds = lib.optim.lr_scheduler
    plain = {
        "step_size": 2, "milestones": [1, 3], "gamma": 0.9, "T_max": 5, "T_0": 2, "base_lr": 0.1,
        "max_lr": 0.5, "lr_lambda": Halving(), "total_steps": 10, "swa_lr": 0.05,
    }  # fmt: skip
    result: Objects = {}
    classes = {**vars(clew.optim.lr_scheduler), "SWALR": clew.optim.swa_utils.SWALR}
    for name, own in classes.items():
        if not isinstance(own, type) or not issubclass(own, clew.optim.lr_scheduler.LRScheduler):
            continue
        cls = lib.optim.swa_utils.SWALR if name == "SWALR" else getattr(kinds, name)
        param = lib.nn.Parameter(lib.ones(2))
        optimizer = lib.optim.SGD([param], lr=0.1, momentum=0.9)
        if name in ("LRScheduler", "_LRScheduler"):
            continue
        if name in ("SequentialLR", "ChainedScheduler"):
            parts = [kinds.ConstantLR(optimizer), kinds.StepLR(optimizer, 1)]
            both = name == "ChainedScheduler"
            scheduler = cls(parts) if both else cls(optimizer, parts, [2])
        elif name == "OneCycleLR":
            scheduler = cls(optimizer, 0.5, total_steps=10)
        else:
            scheduler = made(cls, optimizer=optimizer, **plain)
        for _ in range(3):
            optimizer.step()
            scheduler.step(*([0.5] if name == "ReduceLROnPlateau" else []))
        result[name] = scheduler
    return result


def distributions(lib: Any) -> Objects:
    result: Objects = {
        name: distribution_cases.build(builder, lib, "float32").distribution
        for name, builder in distribution_cases.CASES.items()
    }
    D = lib.distributions
    for name in ("positive", "simplex", "real_vector", "lower_cholesky", "boolean"):
        result[name] = getattr(D.constraints, name)
    result["interval"] = D.constraints.interval(0.0, 1.0)
    result["stack"] = D.constraints.stack([D.constraints.real, D.constraints.positive])
    result["transform"] = D.ComposeTransform([D.ExpTransform(), D.AffineTransform(1.0, 2.0)])
    return result


def others(lib: Any) -> Objects:
    data = lib.utils.data
    numbers = data.TensorDataset(lib.arange(6.0).view(3, 2))
    generator = lib.Generator().manual_seed(7)
    lib.rand(5, generator=generator)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        older = lib.cuda.amp.GradScaler(), lib.cuda.amp.autocast(enabled=False)
    ready = lib.amp.GradScaler("cpu", init_scale=8.0)
    ready.scale(lib.ones(1))
    model = lib.nn.Linear(2, 1)
    return {
        "generator": generator, "generator state": generator.get_state(), "scaler": ready,
        "scaler state": ready.state_dict(), "older scaler": older[0], "older autocast": older[1],
        "autocast": lib.amp.autocast("cpu"), "dataset": numbers,
        "subset": data.Subset(numbers, [0, 2]), "concatenated": data.ConcatDataset([numbers] * 2),
        "stacked": data.StackDataset(numbers, numbers),
        "random": data.RandomSampler(numbers, generator=generator),
        "weighted": data.WeightedRandomSampler([0.5, 0.5], 2),
        "subset sampler": data.SubsetRandomSampler([0, 1]),
        "batches": data.BatchSampler(data.SequentialSampler(numbers), 2, False),
        "distributed": data.distributed.DistributedSampler(numbers, 2, 0),
        "loader": data.DataLoader(numbers, batch_size=2, shuffle=True, generator=generator),
        "averaged": lib.optim.swa_utils.AveragedModel(model),
        "packed": lib.nn.utils.rnn.pack_sequence([lib.ones(3, 1), lib.ones(2, 1)]),
        "max": lib.arange(4.0).view(2, 2).max(0), "sorted": lib.tensor([2.0, 1.0]).sort(),
        "storage": lib.ones(2).untyped_storage(), "format": [lib.Size([2]), lib.device("cpu")],
        "dtype": lib.bfloat16, "layout": lib.strided,
        "options": lib.nn.LinearCrossEntropyOptions(batch_chunk_size=3),
        "buffer": lib.nn.Buffer(lib.ones(2)), "lazy": lib.nn.UninitializedParameter(),
        "functions": [lib.nn.functional.relu],
    }  # fmt: skip


FAMILIES: dict[str, Callable[[Any], Objects]] = {
    "modules": modules, "optimizers": optimizers, "schedulers": schedulers,
    "distributions": distributions, "others": others,
}  # fmt: skip

# Loads the files of each group in a process of its own that has imported clew and nothing else.
READER = """
import json, os, sys
import clew
from tests.describing import Halving, described

groups, weights_only = json.load(sys.stdin)
for paths in groups.values():
    sys.stdout.flush()
    if os.fork() == 0:
        clew.serialization.add_safe_globals([Halving])
        for name, path in paths:
            try:
                text = described(clew.load(path, weights_only=weights_only))
            except BaseException as error:  # the parent compares the text
                text = f"{type(error).__name__}: {error}"
            print(json.dumps([name, text]))
        sys.stdout.flush()
        os._exit(0)
    os.wait()
"""


def loaded_elsewhere(objects: Objects, folder: Path, weights_only: bool | None) -> dict[str, str]:
    """What fresh processes read from the files of some objects."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for number, (name, value) in enumerate(objects.items()):
        clew.save(value, folder / f"{number}.pt")
        # Importing one module of a package imports the package.
        package = ".".join(type(value).__module__.split(".")[:2])
        group = groups.setdefault(package, [])
        group.append((name, str(folder / f"{number}.pt")))
    done = subprocess.run(
        [sys.executable, "-c", READER], input=json.dumps([groups, weights_only]), text=True,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0 and not done.stderr, done.stderr
    return dict(json.loads(line) for line in done.stdout.splitlines())


@pytest.mark.parametrize("family", FAMILIES)
def test_objects_load_in_a_fresh_process(family: str, tmp_path: Path) -> None:
    objects = FAMILIES[family](clew)
    found = loaded_elsewhere(objects, tmp_path, weights_only=False)
    wrong = {
        name: (found[name][:300], described(value)[:300])
        for name, value in objects.items()
        if found[name] != described(value)
    }
    assert not wrong


@pytest.mark.parametrize("family", ["modules", "optimizers", "schedulers"])
def test_state_dicts_load_with_weights_only(family: str, tmp_path: Path) -> None:
    """What programs save in checkpoints is read without further words."""
    objects = FAMILIES[family](clew)
    states = {
        name: value.state_dict() for name, value in objects.items() if not name.startswith("Lazy")
    }
    found = loaded_elsewhere({"all": states}, tmp_path, weights_only=None)
    assert found == {"all": described(states)}


def test_every_exported_class_is_found_by_its_name() -> None:
    """Also those of which no object is made above."""
    exporting = [
        clew.nn, clew.optim, clew.optim.lr_scheduler, clew.optim.swa_utils, clew.utils.data,
        clew.distributions, clew.distributions.constraints, clew.distributions.transforms, clew.amp,
        clew.cuda.amp, clew.cpu.amp, clew.ops.define.return_types, clew.nn.utils.prune,
        clew.nn.utils.parametrizations, clew.nn.utils.rnn, clew.utils.data.distributed,
    ]  # fmt: skip
    classes = [c for c in all_classes(*exporting) if names.is_own_class(c)]
    assert len(classes) > 300
    for cls in classes:
        full = names.canonical(cls.__module__, cls.__qualname__)
        if not cls.__name__.startswith("_"):
            assert names.find_own(full) is cls, full


# PyTorch keeps bound methods in these, which its files describe as calls of `getattr`; and clew's
# lazy modules keep functions that PyTorch does not have. A function of the user's is the user's.
NOT_SHARED = {"CyclicLR": torch, "SWALR": torch, "LambdaLR": None, "MultiplicativeLR": None}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("family", FAMILIES)
def test_pytorchs_files_load_and_clews_load_there(family: str) -> None:
    ours, theirs = FAMILIES[family](clew), FAMILIES[family](torch)
    wrong: dict[str, str] = {}
    for name in ours:
        for source, target, value in ((torch, clew, theirs[name]), (clew, torch, ours[name])):
            if name.startswith("Lazy") or NOT_SHARED.get(name, 0) in (source, None):
                continue
            buffer = io.BytesIO()
            source.save(value, buffer)
            buffer.seek(0)
            try:
                loaded = target.load(buffer, weights_only=False)
                state = getattr(value, "state_dict", None)
                if state is not None and family != "schedulers":
                    assert _plain(loaded.state_dict()) == _plain(state())
            except Exception as error:  # all failures are told together, below
                wrong[f"{name} from {source.__name__}"] = f"{type(error).__name__}: {error}"[:300]
    assert not wrong


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
