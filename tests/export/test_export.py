"""`torch.export`: graphs as PyTorch's, programs that compute the same, files, what is refused."""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import clew
from tests.twice import twice


def mlp(lib: Any) -> Any:
    nn = lib.nn
    return nn.Sequential(
        nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 8), nn.Tanh(), nn.Dropout(0.5), nn.Linear(8, 3),
        nn.Softmax(-1),
    )  # fmt: skip


def cnn(lib: Any) -> Any:
    nn, F = lib.nn, lib.nn.functional

    class CNN(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one = nn.Conv2d(3, 8, 3, padding=1)
            self.two = nn.Conv2d(8, 16, 3, stride=2, groups=2, bias=False)
            self.norm = nn.BatchNorm2d(16)
            self.out = nn.Linear(16, 5)

        def forward(self, x: Any) -> Any:
            x = F.max_pool2d(F.relu(self.one(x)), 2)
            x = self.norm(self.two(x))
            x += x.mean((2, 3), keepdim=True)
            return self.out(F.adaptive_avg_pool2d(x.relu_(), 1).flatten(1))

    return CNN()


def lstm(lib: Any) -> Any:
    nn = lib.nn

    class Recurrent(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.LSTM(4, 6, 2, batch_first=True, bidirectional=True)
            self.out = nn.Linear(12, 3)

        def forward(self, x: Any) -> Any:
            y, (h, _) = self.layers(x)
            return {"last": self.out(y[:, -1]), "all": (y, h)}

    return Recurrent()


def gpt(lib: Any) -> Any:
    nn, F = lib.nn, lib.nn.functional

    class GPT(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens, self.places = nn.Embedding(17, 12), nn.Embedding(16, 12)
            self.norm = nn.LayerNorm(12)
            self.qkv, self.proj = nn.Linear(12, 36), nn.Linear(12, 12)
            self.mlp = nn.Sequential(nn.Linear(12, 48), nn.GELU(), nn.Linear(48, 12))
            self.head = nn.Linear(12, 17, bias=False)
            self.head.weight = self.tokens.weight

        def forward(self, idx: Any) -> Any:
            size, length = idx.shape
            x = self.tokens(idx) + self.places(lib.arange(length))
            parts = self.qkv(self.norm(x)).split(12, dim=2)
            q, k, v = (each.view(size, length, 3, 4).transpose(1, 2) for each in parts)
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.proj(y.transpose(1, 2).contiguous().view(size, length, 12))
            return self.head(x + self.mlp(x))

    return GPT()


def encoder(lib: Any) -> Any:
    layer = lib.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    return lib.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


def numbers(lib: Any, *shape: int) -> Any:
    return lib.tensor(np.random.default_rng(0).standard_normal(shape).astype(np.float32))


def tokens(lib: Any, *shape: int) -> Any:
    return lib.tensor(np.random.default_rng(0).integers(0, 17, shape))


# How a model is made, its input, the input's shape, and another one.
MODELS: dict[str, tuple[Any, Any, tuple[int, ...], tuple[int, ...]]] = {
    "mlp": (mlp, numbers, (5, 6), (9, 6)),
    "cnn": (cnn, numbers, (4, 3, 12, 12), (5, 3, 20, 12)),
    "lstm": (lstm, numbers, (4, 5, 4), (3, 8, 4)),
    "gpt": (gpt, tokens, (2, 7), (3, 16)),
    "encoder": (encoder, numbers, (4, 5, 8), (2, 9, 8)),
}


def agree(one: Any, two: Any) -> None:
    pairs = zip(*(clew.utils._pytree.tree_leaves(each) for each in (one, two)), strict=True)
    for a, b in pairs:
        assert a.shape == b.shape
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_models(name: str, tmp_path: Path) -> None:
    """Fixed and changing sizes, training and evaluation; saved and loaded, all the same."""
    make, draw, shape, other = MODELS[name]
    clew.manual_seed(0)
    model, x = make(clew), draw(clew, *shape)
    before = {key: value.clone() for key, value in model.state_dict().items()}
    changing = {
        d: clew.export.Dim(f"size{d}")
        for d, (a, b) in enumerate(zip(shape, other, strict=True))
        if a != b
    }
    for training in (False, True):
        model.train(training)
        fixed = clew.export.export(model, (x,))
        program = clew.export.export(model, (x,), dynamic_shapes=(changing,))
        agree(dict(model.state_dict()), before)
        clew.export.save(program, tmp_path / "model.pt2")
        again = clew.export.load(tmp_path / "model.pt2")
        assert str(again) == str(program)
        for each in (x, draw(clew, *other)):
            ways = [model, program.module(), again.module()] + [fixed.module()] * (each is x)
            results = []
            for run in ways:
                model.load_state_dict(before)
                clew.manual_seed(1)
                results.append(run(each))
            for result in results[1:]:
                agree(result, results[0])
        model.load_state_dict(before)


def graph_of(lib: Any, model: Any, *args: Any, **options: Any) -> str:
    return str(lib.export.export(model, args, **options).graph)


@pytest.mark.parametrize("name", ["mlp", "cnn"])
def test_graphs_as_pytorch(name: str) -> None:
    make, draw, shape, _ = MODELS[name]
    texts = [graph_of(lib, make(lib), draw(lib, *shape)) for lib in (clew, torch)]
    # A name of Python's is given another one here.
    assert texts[0].replace("input_1", "input") == texts[1].replace("input_1", "input")


def calls(lib: Any) -> Any:
    F = lib.nn.functional

    class Calls(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.W = lib.nn.Parameter(lib.ones(3))
            self.register_buffer("seen", lib.zeros(()))
            self.register_buffer("own", lib.ones(3), persistent=False)
            self.plain = lib.ones(3)

        def forward(self, X: Any, *args: Any, **kw: Any) -> Any:
            self.seen = self.seen + 1
            y = F.layer_norm(X * self.W + self.own - self.plain, (3,))
            y = F.softmax(F.dropout(y, 0.1, self.training), -1) + kw["B"]["c"]
            z = 1.0 - args[0] ** 2
            z = lib.cat([z, z], 1).view(2, -1).flatten(0).unsqueeze(0).squeeze(0)
            a, b = lib.ones(4, 4).chunk(2, 0)
            top, where = (a @ b.t()).topk(2)
            return [y.argmax(-1), z.clamp(0, 1), {"top": top * where, "n": 3}, F.gelu(y), None]

    return Calls()


def test_graph_of_calls() -> None:
    """Names of inputs, nested ones too, signatures, and calls of many kinds."""

    def signature(lib: Any) -> Any:
        args = (lib.ones(4, 3), lib.ones(4, 2))
        program = lib.export.export(calls(lib), args, {"B": {"c": lib.ones(3)}})
        found = program.graph_signature
        return {
            "graph": str(program.graph),
            "signature": str(found),
            "inputs": list(found.user_inputs),
            "outputs": list(found.user_outputs),
            "parameters": [*found.parameters],
            "buffers": [*found.buffers],
            "not kept": [*found.non_persistent_buffers],
            "by name": dict(found.inputs_to_parameters),
            "state": list(program.state_dict),
            "constants": sorted(program.constants),
            "named": [name for name, _ in program.named_parameters()],
            "code": program.module().code.strip(),
        }

    ours, theirs = signature(clew), signature(torch)
    for name in ours:
        if name not in ("graph", "code"):
            assert ours[name] == theirs[name], name
    # A copy to a buffer has a name of its own in PyTorch.
    names = [
        [line.split(" : ")[0].replace("copy__default", "copy_") for line in text.splitlines()]
        for text in (ours["graph"], theirs["graph"])
    ]
    assert names[0] == names[1]
    assert ours["code"].splitlines()[:2] == theirs["code"].splitlines()[:2]


def test_dynamic_sizes() -> None:
    def text(lib: Any) -> Any:
        class Pair(lib.nn.Module):
            def forward(self, x: Any, y: Any) -> Any:
                return lib.cat([x, x]).reshape(x.shape[0] * 2, -1) * y

        Dim = lib.export.Dim
        half = Dim("half", min=2, max=10)
        program = lib.export.export(
            Pair(),
            (lib.ones(4, 3), lib.ones(8, 1)),
            dynamic_shapes={"x": {0: half}, "y": {0: 2 * half}},
        )
        run = program.module()
        found = [str(program.range_constraints), list(run(lib.ones(5, 3), lib.ones(10, 1)).shape)]
        for wrong in ((5, 11), (11, 22)):
            try:
                run(lib.ones(wrong[0], 3), lib.ones(wrong[1], 1))
            except AssertionError as error:
                found.append(str(error).splitlines()[0])
        return found

    assert text(clew) == text(torch)
    one, two = clew.export.dims("a", "b", max=5)
    assert repr((one, 2 * two + 1)) == "(Dim('a', min=0, max=5), 2*b + 1)"


def test_automatic_sizes() -> None:
    class Halves(clew.nn.Module):
        def forward(self, x: Any) -> Any:
            return x[: x.shape[0] // 2], x[1:], x.new_zeros(x.shape[0] + 1)

    auto = ({0: clew.export.Dim.AUTO},)
    for size in (3, 4, 7, 8):
        program = clew.export.export(Halves(), (clew.ones(size, 2),), dynamic_shapes=auto)
        for other in (2, 5, 9, 16):
            agree(program.module()(clew.ones(other, 2)), Halves()(clew.ones(other, 2)))


def test_shares_of_sizes() -> None:
    """Any divisor is found, where the example's size tells it from others."""

    class Share(clew.nn.Module):
        def __init__(self, divisor: int) -> None:
            super().__init__()
            self.divisor = divisor

        def forward(self, x: Any) -> Any:
            return x.new_zeros(x.shape[0] // self.divisor, 2), x[: x.shape[0] // self.divisor + 1]

    auto = ({0: clew.export.Dim.AUTO},)
    for divisor, size in ((5, 9), (7, 28), (7, 30), (8, 30), (9, 63), (12, 200), (100, 900)):
        model = Share(divisor)
        program = clew.export.export(model, (clew.ones(size, 2),), dynamic_shapes=auto)
        for other in (2, 6, 7, 55, 99, 1000):
            agree(program.module()(clew.ones(other, 2)), model(clew.ones(other, 2)))
    with pytest.raises(RuntimeError, match="a larger example would tell"):
        clew.export.export(Share(200), (clew.ones(100, 2),), dynamic_shapes=auto)


def test_limits_that_sizes_far_away_would_pass() -> None:
    class Places(clew.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = clew.nn.Embedding(12, 2)

        def forward(self, x: Any) -> Any:
            if x.shape[0] < 6:
                raise ValueError("too short")
            return self.table(clew.arange(x.shape[0])) + x

    model, auto = Places(), ({0: clew.export.Dim.AUTO},)
    program = clew.export.export(model, (clew.ones(10, 2),), dynamic_shapes=auto)
    agree(program.module()(clew.ones(12, 2)), model(clew.ones(12, 2)))


REFUSED: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "branch on a value": (lambda x: x if x.sum() > 0 else -x, None),
    "branch on a size": (lambda x: x if x.shape[0] > 4 else -x, 0),
    "one size": (lambda x: x.reshape(5, 2) * 1, 0),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    def words(lib: Any) -> Any:
        function, dim = REFUSED[name]

        class Of(lib.nn.Module):
            def forward(self, x: Any) -> Any:
                return function(x)

        shapes = None if dim is None else ({dim: lib.export.Dim("b")},)
        with pytest.raises(RuntimeError) as caught:
            lib.export.export(Of(), (lib.ones(5, 2),), dynamic_shapes=shapes)
        return [type(caught.value).__name__, " ".join(str(caught.value).split()[:5])]

    assert words(clew) == words(torch)


def test_sizes_that_depend_on_values() -> None:
    class Count(clew.nn.Module):
        def forward(self, x: Any) -> Any:
            found = x[x > 0]
            return found.sum() / found.shape[0]

    with pytest.raises(RuntimeError, match="Could not guard on data-dependent expression u0"):
        clew.export.export(Count(), (clew.ones(3),))

    class Sum(clew.nn.Module):
        def forward(self, x: Any) -> Any:
            return x[x > 0].exp().sum()

    run = clew.export.export(Sum(), (clew.ones(3),)).module()
    assert run(clew.tensor([0.0, -1.0, 0.5])).item() == pytest.approx(math.exp(0.5))


@twice
def test_wrong_calls(lib: Any) -> Any:
    model = lib.nn.Linear(3, 2)
    x = lib.ones(5, 3)
    program = lib.export.export(model, (x,))
    run = program.module()
    b = lib.export.Dim("b")
    attempts: list[Callable[[], Any]] = [
        lambda: program(x),
        lambda: run(lib.ones(6, 3)),
        lambda: run(x, 2),
        lambda: run(),
        lambda: run(x=x),
        lambda: lib.export.export(lambda x: x, (x,)),
        lambda: lib.export.export(model, (x,), dynamic_shapes={"y": {0: b}}),
        lambda: lib.export.export(model, (x,), dynamic_shapes=({0: b}, {})),
        lambda: lib.export.export(model, (x,), dynamic_shapes=({2: b},)),
        lambda: lib.export.Dim("b", min=5, max=3),
        lambda: lib.export.Dim("b c"),
        lambda: lib.export.save(model, "/tmp/never-written.pt2"),
    ]
    found = []
    for attempt in attempts:
        with pytest.raises(Exception) as caught:
            attempt()
        text = str(caught.value).partition("\n")[0]
        found.append(
            [type(caught.value).__name__, text.partition(": `")[0].partition(". Alter")[0]]
        )
    return found


def test_writes_stay_inside() -> None:
    class Writes(clew.nn.Module):
        def forward(self, x: Any) -> Any:
            x += 1
            made = clew.tensor([1.0, 2.0])
            made += 1
            return x * made

    x = clew.zeros(2)
    program = clew.export.export(Writes(), (x,))
    assert x.tolist() == [0.0, 0.0]
    run = program.module()
    for _ in range(2):
        assert run(clew.zeros(2)).tolist() == [2.0, 3.0]


def test_random_streams_and_modes_are_left_alone() -> None:
    model = mlp(clew)
    clew.manual_seed(3)
    state = clew.get_rng_state()
    clew.export.export(model, (clew.ones(5, 6),))
    assert (clew.get_rng_state() == state).all()
    assert model.training


def test_gradients_flow_to_the_module() -> None:
    model = clew.nn.Linear(3, 2)
    run = clew.export.export(model, (clew.ones(5, 3),)).module()
    run(clew.ones(5, 3)).sum().backward()
    assert model.weight.grad is not None
    assert [name for name, _ in run.named_parameters()] == ["weight", "bias"]


def test_custom_operation_in_a_file() -> None:
    @clew.library.custom_op("exported::twice", mutates_args=())
    def double(x: clew.Tensor) -> clew.Tensor:
        return x * 2

    class Uses(clew.nn.Module):
        def forward(self, x: Any) -> Any:
            return double(x) + 1

    program = clew.export.export(Uses(), (clew.ones(2),))
    file = io.BytesIO()
    clew.export.save(program, file, extra_files={"note": "hello"})
    found = {"note": ""}
    again = clew.export.load(io.BytesIO(file.getvalue()), extra_files=found)
    assert found == {"note": "hello"}
    assert again.module()(clew.ones(2)).tolist() == [3.0, 3.0]


def test_files_run_no_code() -> None:
    file = io.BytesIO()
    clew.export.save(clew.export.export(mlp(clew), (clew.ones(5, 6),)), file)
    archive = zipfile.ZipFile(io.BytesIO(file.getvalue()))
    parts = {name: archive.read(name) for name in archive.namelist()}

    def changed(change: Callable[[Any], None]) -> io.BytesIO:
        document = json.loads(parts["graph.json"])
        change(document)
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w") as target:
            target.writestr("graph.json", json.dumps(document))
            target.writestr("weights.safetensors", parts["weights.safetensors"])
        return io.BytesIO(made.getvalue())

    def step(document: Any, **values: Any) -> None:
        next(n for n in document["nodes"] if n["op"] == "call_function").update(values)

    tree = (
        '[1, {"type": "collections.namedtuple", "context": "\\"os.system\\"", "children_spec": []}]'
    )
    for change in (
        lambda d: step(d, target="os::system"),
        lambda d: step(d, target="operator::methodcaller"),
        lambda d: step(d, target="aten::__class__"),
        lambda d: step(d, op="call_module", target="x"),
        lambda d: step(d, args={"call": ["os.system"]}),
        lambda d: step(d, name="x; import os"),
        lambda d: step(d, kwargs={"dict": [["x=print(1), y", 1]]}),
        lambda d: d.update(arg_names=["x=print(1)"]),
        lambda d: d["nodes"][0].update(target="x=print(1)"),
        lambda d: d.update(in_spec=tree),
        lambda d: d.update(version=99),
        lambda d: d.pop("nodes"),
    ):
        with pytest.raises((RuntimeError, NotImplementedError), match=r"cannot be read|not have"):
            clew.export.load(changed(change))
    with pytest.raises(RuntimeError, match="cannot be read"):
        clew.export.load(io.BytesIO(b"no zip"))
