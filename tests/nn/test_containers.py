"""Sequential, ModuleList, ModuleDict, ParameterList, ParameterDict."""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict
from typing import Any

import pytest

import clew
from tests.twice import raised, twice


def layers(t: Any, *sizes: int) -> list[Any]:
    return [t.nn.Linear(size, size) for size in sizes]


# -- Sequential ----------------------------------------------------------------------------------


@twice
def test_sequential_runs_in_order(t: Any) -> Any:
    t.manual_seed(0)
    m = t.nn.Sequential(t.nn.Linear(3, 4), t.nn.Identity(), t.nn.Linear(4, 2))
    x = t.ones(2, 3)
    return (
        m(x), m(input=x), t.nn.Sequential()(x), list(m.state_dict()),
        raised(t.nn.Sequential(*layers(t, 1)), x, 3, words=8),
    )  # fmt: skip


@twice
def test_sequential_reads_like_a_list(t: Any) -> Any:
    m = t.nn.Sequential(*layers(t, 1, 2, 3, 4))
    named = t.nn.Sequential(OrderedDict(a=t.nn.Linear(1, 1), b=t.nn.Linear(2, 2)))
    Own = type("Own", (t.nn.Sequential,), {})
    wrong = [7, -7, "0", 1.5]
    return (
        len(m), repr(m), repr(m[0]), repr(m[-1]), repr(m[1:3]), repr(m[::2]), repr(m[-2:]),
        repr(named), repr(named.b), repr(named[0:1]), repr(named[1]),
        [repr(each) for each in m], type(Own(*layers(t, 1, 2))[:1]).__name__,
        [raised(m.__getitem__, index, words=20) for index in wrong],
        "0" in dir(m), repr(t.nn.Sequential()), repr(t.nn.Sequential(t.nn.Sequential())),
    )  # fmt: skip


@twice
def test_sequential_changes_like_a_list(t: Any) -> Any:
    seen = []
    m = t.nn.Sequential(*layers(t, 1, 2, 3, 4))
    for change in (
        lambda: m.__setitem__(1, t.nn.Identity()),
        lambda: m.__setitem__(-1, t.nn.Flatten()),
        lambda: m.__delitem__(0),
        lambda: m.append(t.nn.Linear(5, 5)),
        lambda: m.insert(0, t.nn.Linear(6, 6)),
        lambda: m.insert(-1, t.nn.Linear(7, 7)),
        lambda: m.insert(len(m), t.nn.Linear(8, 8)),
        lambda: m.extend(t.nn.Sequential(*layers(t, 9))),
        lambda: m.extend(layers(t, 10)),
        lambda: m.pop(1),
        lambda: m.__delitem__(slice(1, 3)),
        lambda: m.__delitem__(-1),
    ):
        change()
        seen.append((repr(m), list(m.state_dict())))
    return seen, m.append(t.nn.Identity()) is m, m.extend([]) is m


@twice
def test_sequential_named_keys_after_changes(t: Any) -> Any:
    m = t.nn.Sequential(OrderedDict(a=t.nn.Linear(1, 1), b=t.nn.Linear(2, 2), c=t.nn.Flatten()))
    m[1] = t.nn.Identity()
    replaced = list(dict(m.named_children()))
    del m[0]
    return replaced, list(dict(m.named_children())), repr(m.pop("c") if hasattr(m, "c") else m)


@twice
def test_sequential_operators(t: Any) -> Any:
    m = t.nn.Sequential(*layers(t, 1, 2))
    n = t.nn.Sequential(*layers(t, 3))
    both = m + n
    seen = [repr(both), repr(m * 2), repr(2 * n), (m * 2)[0] is m[0], both[2] is n[0]]
    m += n
    m *= 2
    seen.append(repr(m))
    wrong = [lambda: m + [n], lambda: m + 3, lambda: m * 0, lambda: m * 1.5, lambda: m * -1]
    return seen, [raised(each, words=5) for each in wrong], raised(m.__iadd__, 3, words=8)


@twice
def test_sequential_refuses(t: Any) -> Any:
    m = t.nn.Sequential(*layers(t, 1))
    return (
        [
            raised(t.nn.Sequential, value, words=6)
            for value in (3, [t.nn.Identity()], {"a": 1}, "x")
        ],
        raised(m.append, 3, words=6),
        raised(m.insert, 9, t.nn.Identity(), words=6),
        raised(m.insert, -9, t.nn.Identity(), words=6),
        raised(m.insert, 0, 3, words=5),
        raised(m.__setitem__, 9, t.nn.Identity(), words=6),
        raised(m.__delitem__, 9, words=6),
    )


# -- ModuleList ----------------------------------------------------------------------------------


@twice
def test_module_list(t: Any) -> Any:
    seen = []
    m = t.nn.ModuleList(layers(t, 1, 2, 2, 3))
    reads = [repr(m), len(m), repr(m[0]), repr(m[-1]), repr(m[1:3]), type(m[:1]).__name__]
    for change in (
        lambda: m.__setitem__(0, t.nn.Identity()),
        lambda: m.append(t.nn.Linear(5, 5)),
        lambda: m.extend(layers(t, 6)),
        lambda: m.insert(1, t.nn.Linear(8, 8)),
        lambda: m.pop(0),
        lambda: m.pop(-1),
        lambda: m.__delitem__(0),
        lambda: m.__delitem__(slice(1, 3)),
        lambda: m.append(None),
    ):
        change()
        seen.append((repr(m), list(m.state_dict())))
    m += layers(t, 7)
    joined = [repr(m + layers(t, 1)), repr(m + t.nn.ModuleList(layers(t, 2)))]
    return reads, seen, joined, m[0] in m, [type(each).__name__ for each in m], "0" in dir(m)


@twice
def test_module_list_prints_repeats_once(t: Any) -> Any:
    def block() -> Any:
        return t.nn.Sequential(*layers(t, 1, 1))

    return [
        repr(t.nn.ModuleList(modules))
        for modules in ([], [block(), block()], [t.nn.ModuleList(layers(t, 1))], layers(t, 1, 2, 2))
    ]


@twice
def test_module_list_refuses(t: Any) -> Any:
    m = t.nn.ModuleList(layers(t, 1))
    return (
        raised(lambda: m[7], words=6), raised(lambda: m["a"], words=6),
        raised(m.__setitem__, 7, t.nn.Identity(), words=6), raised(m.__setitem__, 0, 3, words=12),
        raised(m.extend, 3, words=12), raised(t.nn.ModuleList, 3, words=12),
        raised(m.append, 3, words=6), raised(m, t.ones(1), words=8),
    )  # fmt: skip


def test_module_list_inserts_like_a_list() -> None:
    m = clew.nn.ModuleList(layers(clew, 1, 2))
    m.insert(-1, clew.nn.Flatten())
    m.insert(99, clew.nn.Identity())
    assert [type(each).__name__ for each in m] == ["Linear", "Flatten", "Linear", "Identity"]
    with pytest.raises(TypeError, match="int is not a Module subclass"):
        m.insert(0, 3)


# -- ModuleDict ----------------------------------------------------------------------------------


@twice
def test_module_dict(t: Any) -> Any:
    m = t.nn.ModuleDict({"b": t.nn.Linear(1, 1), "a": t.nn.Linear(2, 2)})
    reads = [repr(m), len(m), repr(m["a"]), list(m), list(m.keys()), "a" in m, "z" in m]
    reads += [[key for key, _ in m.items()], [repr(value) for value in m.values()]]
    seen = []
    for change in (
        lambda: m.__setitem__("c", t.nn.Linear(3, 3)),
        lambda: m.update({"a": t.nn.Identity(), "z": t.nn.Flatten()}),
        lambda: m.update([["q", t.nn.Linear(4, 4)], ("r", t.nn.Linear(5, 5))]),
        lambda: m.update(t.nn.ModuleDict({"n": t.nn.Identity()})),
        lambda: m.update(OrderedDict(z=t.nn.Linear(6, 6))),
        lambda: m.pop("a"),
        lambda: m.__delitem__("b"),
        lambda: m.clear(),
    ):
        change()
        seen.append((repr(m), list(m.state_dict())))
    return reads, seen


@twice
def test_module_dict_refuses(t: Any) -> Any:
    m = t.nn.ModuleDict({"a": t.nn.Identity()})
    return (
        raised(m.update, 3, words=14), raised(m.update, [3], words=14),
        raised(m.update, [(1, 2, 3)], words=14), raised(m.__setitem__, "x", 3, words=6),
        raised(m.__setitem__, 3, t.nn.Identity(), words=8), raised(lambda: m["nope"], words=6),
        raised(m.__setitem__, "a.b", t.nn.Identity(), words=8),
        raised(m.__setitem__, "keys", t.nn.Identity(), words=8),
        raised(m.pop, "nope", words=8), raised(m, 3, words=8), raised(t.nn.ModuleDict, 3, words=8),
    )  # fmt: skip


# -- ParameterList and ParameterDict -------------------------------------------------------------


@twice
def test_parameter_list(t: Any) -> Any:
    m = t.nn.ParameterList([t.nn.Parameter(t.ones(2)), t.ones(2, 3), 5, "x"])
    reads = [repr(m), len(m), m[0], m[2], repr(m[1:3]), type(m[:1]).__name__, "0" in dir(m)]
    reads += [[name for name, _ in m.named_parameters()], list(m.state_dict())]
    m.append(t.ones(1))
    m.extend([t.tensor(0.0)])
    m += [t.ones(1), t.nn.Linear(1, 1)]
    m[0] = t.zeros(4)
    m[-2] = t.ones(3)
    twin = copy.deepcopy(m)
    return (
        reads, repr(m), m[-2], len(list(m)), repr(twin), twin[0] is m[0],
        repr(t.nn.ParameterList()), repr(t.nn.ParameterList([t.ones(1)])),
        repr(t.nn.ParameterList(t.nn.ParameterList([t.ones(1)]))),
    )  # fmt: skip


@twice
def test_parameter_list_refuses(t: Any) -> Any:
    m = t.nn.ParameterList([t.ones(1)])
    return (
        raised(lambda: m[9], words=6), raised(m.extend, 3, words=12),
        raised(m.extend, t.ones(1), words=12), raised(m, 3, words=8),
        raised(m.__setitem__, 9, 3, words=8), raised(t.nn.ParameterList, 3, words=12),
        raised(m.__setitem__, 0, 3, words=12), raised(lambda: m["a"], words=8),
    )  # fmt: skip


@twice
def test_parameter_dict(t: Any) -> Any:
    m = t.nn.ParameterDict({"b": t.nn.Parameter(t.ones(2)), "a": t.ones(3), "n": 5})
    reads = [repr(m), len(m), m["a"], list(m), list(m.keys()), list(m.values()), "a" in m]
    reads += [list(reversed(m)), [name for name, _ in m.named_parameters()], list(m.items())]
    m["c"] = t.zeros(1)
    reads += [m.get("c"), m.get("zz"), m.get("zz", 3), m.setdefault("a")]
    reads += [m.setdefault("new", t.ones(1)), m.setdefault("none"), repr(m), list(m.state_dict())]
    reads += [m.pop("a"), m.popitem(), repr(m)]
    del m["b"]
    other = t.nn.ParameterDict({"k": t.ones(1)})
    reads += [repr(m.fromkeys(["x", "y"])), repr(m.fromkeys(["x"], t.ones(1))), repr(m.copy())]
    reads += [repr(m | other), repr(other | m), type(m | other).__name__]
    m |= other
    m.update({"m": t.ones(1)})
    m.update([("o", t.ones(1))])
    m["none"] = None
    reads.append(repr(m))
    m.clear()
    return reads, repr(m), [(name, m[name]) for name in m]


@twice
def test_replicas(t: Any) -> Any:
    told = []
    for m in (
        t.nn.ParameterList([t.ones(2), t.zeros(3)]), t.nn.ParameterDict({"b": t.ones(2)}),
        t.nn.BatchNorm1d(2), t.nn.LSTM(1, 2), t.nn.Sequential(t.nn.Linear(1, 2)),
    ):  # fmt: skip
        replica = m._replicate_for_data_parallel()
        told.append([type(replica).__name__, list(replica.state_dict()), list(m.state_dict())])
        for name, p in m.named_parameters(recurse=False):
            setattr(replica, name, p.view_as(p))
            copied = getattr(replica, name)
            told.append((name, copied.grad_fn is None, copied._base is p))
        told.append(list(replica.children()) == list(m.children()))
    return told


@twice
def test_order_of_parameter_dicts(t: Any) -> Any:
    pairs = [("b", t.ones(1)), ("a", t.ones(2))]
    sources = (dict(pairs), OrderedDict(pairs), pairs, t.nn.ParameterDict(OrderedDict(pairs)))
    return [list(t.nn.ParameterDict(source)) for source in sources]


@twice
def test_parameter_dict_refuses(t: Any) -> Any:
    m = t.nn.ParameterDict({"a": t.ones(1)})
    return (
        raised(m.update, 3, words=14), raised(m.update, [3], words=14),
        raised(m.update, [(1, 2, 3)], words=14), raised(lambda: m[3], words=16),
        raised(m.__setitem__, "keys", t.ones(1), words=8), raised(m.pop, "zz", words=8),
        raised(lambda: m["zz"], words=8), raised(m, 3, words=8), 3 in m,
        raised(m.__delitem__, "zz", words=8), raised(t.nn.ParameterDict, 3, words=8),
        raised(t.nn.ParameterDict().popitem, words=2),
    )  # fmt: skip


@twice
def test_containers_train_and_convert(t: Any) -> Any:
    class Model(t.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weights = t.nn.ParameterList([t.ones(2), t.ones(2) * 2])
            self.named = t.nn.ParameterDict({"scale": t.ones(1)})
            self.layers = t.nn.ModuleList(layers(t, 2, 2))

        def forward(self, x: Any) -> Any:
            for weight, layer in zip(self.weights, self.layers, strict=True):
                x = layer(x * weight) * self.named["scale"]
            return x

    t.manual_seed(1)
    m = Model().double()
    out = m(t.ones(3, 2, dtype=t.float64))
    out.sum().backward()
    loaded = Model()
    loaded.load_state_dict(m.state_dict())
    return out, [(name, p.grad) for name, p in m.named_parameters()], repr(m), loaded.weights[1]


@pytest.mark.parametrize(
    "make",
    [
        lambda: clew.nn.Sequential(*layers(clew, 1, 2)),
        lambda: clew.nn.ModuleList(layers(clew, 1, 2)),
        lambda: clew.nn.ModuleDict({"a": clew.nn.Linear(1, 1)}),
        lambda: clew.nn.ParameterList([clew.ones(2), 3]),
        lambda: clew.nn.ParameterDict({"a": clew.ones(2)}),
    ],
)
def test_containers_survive_pickling(make: Any) -> None:
    m = make()
    loaded = pickle.loads(pickle.dumps(m))
    assert repr(loaded) == repr(m)
    assert len(loaded) == len(m)
    for ours, theirs in zip(loaded.parameters(), m.parameters(), strict=True):
        assert clew.equal(ours, theirs)
