"""Modules: registering, finding, converting, printing and copying, as in torch."""

from __future__ import annotations

import copy
import gc
import inspect
import pickle
import weakref
from typing import Any

import pytest

import clew
from tests.twice import raised, twice


def small(t: Any) -> Any:
    """A module with everything in it."""

    class Small(t.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = t.nn.Linear(2, 3)
            self.b = t.nn.Sequential(t.nn.Linear(3, 3), t.nn.Identity())
            self.register_buffer("running", t.zeros(3))
            self.register_buffer("hidden", t.zeros(3), persistent=False)
            self.p = t.nn.Parameter(t.ones(2))
            self.layers = t.nn.ModuleList([t.nn.Linear(2, 2) for _ in range(3)])
            self.plain = None
            self.register_parameter("q", None)
            self.register_buffer("nothing", None)

        def forward(self, x: Any) -> Any:
            return self.b(self.a(x))

    return Small()


# -- parameters ----------------------------------------------------------------------------------


@twice
def test_parameter_is_a_tensor_that_requires_grad(t: Any) -> Any:
    p = t.nn.Parameter(t.ones(2))
    kinds = [type(x).__name__ for x in (p * 2, p.data, p.detach(), p[0], p.clone(), p.double())]
    return (
        repr(p), str(p), f"{p}", p.requires_grad, p.is_leaf, kinds, isinstance(p, t.Tensor),
        isinstance(p, t.nn.Parameter), isinstance(t.ones(1), t.nn.Parameter), p in {p},
        p.float() is p, type(p.requires_grad_(False)).__name__,
    )  # fmt: skip


@twice
def test_parameter_shares_memory_and_version(t: Any) -> Any:
    source = t.ones(2)
    p = t.nn.Parameter(source)
    source.add_(1)
    p.data[0] = 7
    return p, p.data_ptr() == source.data_ptr(), p._version, source


@twice
def test_parameter_constructors(t: Any) -> Any:
    x = t.ones(2, requires_grad=True)
    return (
        repr(t.nn.Parameter()),
        repr(t.nn.Parameter(t.ones(1), requires_grad=False)),
        repr(t.nn.Parameter(t.ones(1, dtype=t.int64), False)),
        t.nn.Parameter(x * 2).is_leaf,
        raised(t.nn.Parameter, t.ones(1, dtype=t.int64), words=20),
    )


@twice
def test_parameter_copies(t: Any) -> Any:
    p = t.nn.Parameter(t.tensor([1.0, 2.0]))
    p.grad = t.ones(2)
    p.note = 3
    copies = [copy.deepcopy(p), copy.copy(p), pickle.loads(pickle.dumps(p))]
    return [(c, c.grad, hasattr(c, "note"), type(c).__name__, c.requires_grad) for c in copies]


@twice
def test_parameter_subclass_keeps_its_class(t: Any) -> Any:
    class Own(t.nn.Parameter):
        pass

    own = Own(t.ones(1))
    return type(own).__name__, isinstance(own, t.nn.Parameter), type(copy.deepcopy(own)).__name__


@twice
def test_operations_on_parameters(t: Any) -> Any:
    p = t.nn.Parameter(t.tensor([1.0, 2.0]))
    q = t.nn.Parameter(t.tensor([[3.0, 4.0]]))
    out = ((p * q).exp() + p / 2 - q @ p).sum()
    out.backward()
    with t.no_grad():
        p.sub_(p.grad * 0.1)
        kind = type(p.add_(1)).__name__
    return out, p.grad, q.grad, p, kind


@twice
def test_buffer_marks_a_tensor(t: Any) -> Any:
    m = t.nn.Module()
    m.kept = t.nn.Buffer(t.ones(2))
    m.dropped = t.nn.Buffer(t.ones(2), persistent=False)
    seen = [list(m._buffers), list(m.state_dict()), sorted(m._non_persistent_buffers_set)]
    m.dropped = t.nn.Buffer(t.zeros(2))
    m.kept = t.nn.Parameter(t.ones(2))
    kinds = [type(t.nn.Buffer(t.ones(1))).__name__, isinstance(t.ones(1), t.nn.Buffer)]
    kinds += [isinstance(m.dropped, t.nn.Buffer), isinstance(m.kept, t.nn.Buffer)]
    return seen, list(m._buffers), list(m._parameters), list(m.state_dict()), kinds


# -- registering ---------------------------------------------------------------------------------


@twice
def test_names_and_orders(t: Any) -> Any:
    m = small(t)
    return (
        repr(m),
        [name for name, _ in m.named_parameters()],
        [name for name, _ in m.named_parameters(prefix="x", recurse=False)],
        [name for name, _ in m.named_buffers()],
        [name for name, _ in m.named_modules()],
        [name for name, _ in m.named_modules(prefix="pre")],
        [name for name, _ in m.named_children()],
        list(m.state_dict()),
        [list(p.shape) for p in m.parameters()],
        len(list(m.buffers())),
        len(list(m.modules())),
        sorted(m.__dict__),
    )


@twice
def test_shared_things_are_listed_once(t: Any) -> Any:
    layer = t.nn.Linear(2, 2)
    layer.again = layer.weight
    m = t.nn.Sequential(layer, layer)
    twin = copy.deepcopy(m)
    return (
        [name for name, _ in m.named_modules()],
        [name for name, _ in m.named_modules(remove_duplicate=False)],
        [name for name, _ in m.named_parameters()],
        [name for name, _ in m.named_parameters(remove_duplicate=False)],
        len(list(m.children())),
        list(m.state_dict()),
        twin[0] is twin[1],
        twin[0].again is twin[0].weight,
        pickle.loads(pickle.dumps(t.nn.Linear(1, 1))).weight.shape == (1, 1),
    )


@twice
def test_assignments_that_are_refused(t: Any) -> Any:
    m = small(t)
    wrong = [("p", t.zeros(2)), ("p", 3), ("a", 3), ("a", t.zeros(2)), ("running", 3)]
    refused = [raised(setattr, m, name, value, words=20) for name, value in wrong]
    return refused, raised(setattr, m, "p", t.nn.Identity(), words=2)


@twice
def test_registrations_that_are_refused(t: Any) -> Any:
    m = small(t)
    calls = [
        (m.register_parameter, "x", 3),
        (m.register_parameter, "x", t.zeros(2)),
        (m.register_parameter, "", None),
        (m.register_parameter, 3, None),
        (m.register_parameter, "forward", None),
        (m.register_buffer, "x", 3),
        (m.register_buffer, "", None),
        (m.register_buffer, 3, None),
        (m.register_buffer, "a", None),
        (m.add_module, "x", 3),
        (m.add_module, "a.b", t.nn.Identity()),
        (m.add_module, "", None),
        (m.add_module, 3, None),
        (m.add_module, "p", t.nn.Identity()),
    ]
    return [raised(*call, words=20) for call in calls] + [
        raised(m.register_parameter, "a.b", None, words=4),
        raised(m.register_buffer, "a.b", None, words=4),
    ]


@twice
def test_before_init(t: Any) -> Any:
    def of(action: Any) -> Any:
        body = {"__init__": lambda self: action(self)}
        return raised(type("Early", (t.nn.Module,), body), words=20)

    class Plain(t.nn.Module):
        def __init__(self) -> None:
            self.x = 3

    return (
        of(lambda self: setattr(self, "x", t.nn.Parameter(t.zeros(1)))),
        of(lambda self: setattr(self, "x", t.nn.Identity())),
        of(lambda self: setattr(self, "x", t.nn.Buffer(t.zeros(1)))),
        of(lambda self: self.register_buffer("x", t.zeros(1))),
        of(lambda self: self.register_parameter("x", None)),
        of(lambda self: self.add_module("x", None)),
        Plain().x,
        raised(Plain(), 3, words=5),
        raised(repr, Plain(), words=20),
    )


@twice
def test_replacing_and_deleting(t: Any) -> Any:
    m = small(t)
    m.running = t.ones(2)
    m.p = None
    m.a = None
    m.plain = t.nn.Identity()
    m.hidden = t.nn.Parameter(t.ones(1))
    seen = [list(m._parameters), list(m._buffers), list(m._modules), sorted(m.__dict__)]
    del m.q, m.b, m.nothing, m.running
    return (
        seen, list(m._parameters), list(m._buffers), list(m._modules), repr(m), m.p,
        raised(delattr, m, "nope", words=20), raised(getattr, m, "nope", words=20),
    )  # fmt: skip


@twice
def test_getting_and_setting_by_path(t: Any) -> Any:
    m = small(t)
    found = [m.get_submodule("b.0") is m.b[0], m.get_submodule("") is m]
    found += [m.get_parameter("b.0.weight") is m.b[0].weight, m.get_buffer("running") is m.running]
    calls = [
        (m.get_submodule, "b.0.weight"), (m.get_submodule, "b.7"), (m.get_parameter, "b.0.x"),
        (m.get_parameter, "running"), (m.get_parameter, "b.0"), (m.get_buffer, "p"),
        (m.get_buffer, "b.0"), (m.get_buffer, "zz"), (m.set_submodule, "", t.nn.Identity()),
        (m.set_submodule, "p", t.nn.Identity()), (m.set_submodule, "zz.0", t.nn.Identity()),
    ]  # fmt: skip
    errors = [raised(*call, words=20) for call in calls]
    errors.append(raised(m.set_submodule, "b.6", t.nn.Identity(), strict=True, words=20))
    m.set_submodule("b.0", t.nn.Identity())
    m.set_submodule("b.5", t.nn.Identity())
    return found, errors, repr(m)


@twice
def test_calls_that_fail(t: Any) -> Any:
    return (
        raised(t.nn.Module().forward, words=20),
        raised(t.nn.Module(), words=20),
        raised(t.nn.Module, 3, words=20),
        raised(t.nn.Module, a=3, words=20),
        raised(small(t).train, 1, words=20),
        raised(small(t).get_extra_state, words=8),
    )


@twice
def test_super_init_in_turn(t: Any) -> Any:
    class Other:
        def __init__(self, x: int) -> None:
            self.x = x

    class Both(t.nn.Module, Other):
        call_super_init = True

    return Both(5).x


def test_signatures_are_those_of_init() -> None:
    assert list(inspect.signature(clew.nn.Linear).parameters) == [
        "in_features", "out_features", "bias", "device", "dtype",
    ]  # fmt: skip


@twice
def test_mixed_in_constructors(t: Any) -> Any:
    class Counted:
        made = 0

        def __new__(cls, *args: Any, **kwargs: Any) -> Any:
            Counted.made += len(args)
            return super().__new__(cls)

    class Both(t.nn.Module, Counted):
        def __init__(self, size: int) -> None:
            super().__init__()
            self.layer = t.nn.Linear(size, size)

    return repr(Both(3)), repr(copy.deepcopy(Both(2))), Counted.made


# -- states and conversions ----------------------------------------------------------------------


@twice
def test_train_eval_apply(t: Any) -> Any:
    m = small(t)
    order: list[str] = []
    returned = m.apply(lambda each: order.append(type(each).__name__)) is m
    m.eval()
    modes = [each.training for each in m.modules()]
    m.b.train()
    return returned, order, modes, [each.training for each in m.modules()], m.eval() is m


@twice
def test_requires_grad_and_zero_grad(t: Any) -> Any:
    m = t.nn.Linear(2, 2)
    m(t.ones(1, 2)).sum().backward()
    m.zero_grad(set_to_none=False)
    zeros = m.weight.grad.clone()
    m.zero_grad()
    frozen = m.requires_grad_(False)
    return zeros, m.weight.grad, frozen is m, [p.requires_grad for p in m.parameters()]


@twice
def test_conversions_keep_the_parameter_objects(t: Any) -> Any:
    m = small(t)
    m.register_buffer("counter", t.tensor(3))
    m(t.ones(1, 2)).sum().backward()
    weight, grad, buffer = m.a.weight, m.a.weight.grad, m.running
    seen: list[Any] = []
    for convert in (
        lambda: m.double(), lambda: m.half(), lambda: m.bfloat16(), lambda: m.float(),
        lambda: m.to(t.float64), lambda: m.to("cpu", t.float32), lambda: m.to(dtype=t.float16),
        lambda: m.to(t.zeros(1)), lambda: m.to("cpu"), lambda: m.to(t.device("cpu")),
        lambda: m.type(t.float64), lambda: m.type("torch.FloatTensor"), lambda: m.cpu(),
        lambda: m.to(), lambda: m.share_memory(), lambda: m.to(tensor=t.zeros(1)),
        lambda: m.to_empty(device="cpu"),
    ):  # fmt: skip
        same = convert() is m
        seen.append((same, m.a.weight is weight, m.a.weight.grad is grad, m.running is buffer))
        seen.append([str(x.dtype) for x in (weight, weight.grad, m.running, m.counter)])
    return seen


@twice
def test_conversions_that_fail(t: Any) -> Any:
    m = t.nn.Linear(1, 1)
    return (
        raised(m.to, t.int32, words=20),
        raised(m.to, "foo", words=8),
        raised(m.to, copy=True, words=20),
        raised(m.type, "foo", words=6),
    )


@pytest.mark.parametrize("move", [lambda m: m.cuda(), lambda m: m.to("cuda"), lambda m: m.xpu()])
def test_there_is_no_accelerator(move: Any) -> None:
    with pytest.raises(AssertionError, match="Torch not compiled with"):
        move(clew.nn.Linear(1, 1))
    assert isinstance(clew.nn.Identity().cuda(), clew.nn.Identity)


@twice
def test_complex_modules(t: Any) -> Any:
    m = t.nn.Linear(2, 2).to(t.complex64)
    return str(m.weight.dtype), m(t.ones(1, 2, dtype=t.complex64)).shape


@twice
def test_channels_last(t: Any) -> Any:
    m = t.nn.Module()
    m.w = t.nn.Parameter(t.zeros(2, 3, 4, 5))
    m.v = t.nn.Parameter(t.zeros(2, 3))
    m.to(memory_format=t.channels_last)
    return m.w.stride(), m.v.stride()


# -- copies --------------------------------------------------------------------------------------


@twice
def test_deepcopy_is_independent(t: Any) -> Any:
    m = small(t)
    m(t.ones(1, 2)).sum().backward()
    twin = copy.deepcopy(m)
    with t.no_grad():
        twin.a.weight.zero_()
    shallow = copy.copy(m)
    return m.a.weight, twin.a.weight, twin.a.weight.grad, repr(twin), shallow.a is m.a


@twice
def test_modules_of_another_memory_layout(t: Any) -> Any:
    """A class may inherit from a builtin as well, and have attributes of any name."""

    class Table(t.nn.Module, dict):
        def __init__(self) -> None:
            super().__init__()
            self.layer = t.nn.Linear(2, 1)

        def forward(self, x: Any) -> Any:
            return self.layer(x) * self["scale"]

    class Places(t.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self._path, self._owner, self.inner = "here", 3, t.nn.Identity()

        def forward(self, x: Any) -> Any:
            return self.inner(x)

    table = Table()
    table["scale"] = 3.0
    places = t.nn.Sequential(Places())
    copied = copy.deepcopy(places)[0]
    kept = copied._path, copied._owner, sorted(set(vars(copied)) & {"_path", "_owner"})
    return table(t.ones(1, 2)), dict(table), len(table), places(t.ones(1)), kept


def test_pickle_round_trip() -> None:
    m = clew.nn.Sequential(clew.nn.Linear(2, 3), clew.nn.Linear(3, 1))
    x = clew.ones(1, 2)
    expected = m(x)
    data = pickle.dumps(m)
    loaded = pickle.loads(data)
    assert b"_owner" not in data and b"_path" not in data
    assert clew.equal(loaded(x), expected)
    assert repr(loaded) == repr(m)


@twice
def test_setstate_of_older_files(t: Any) -> Any:
    m = t.nn.Linear(1, 1)
    state = {key: value for key, value in m.__dict__.items() if "hooks" not in key}
    old = t.nn.Linear.__new__(t.nn.Linear)
    old.__setstate__(
        state | {"_forward_hooks": {}, "_backward_hooks": {}, "_forward_pre_hooks": {}}
    )
    return old(t.zeros(1, 1)).shape, list(old.state_dict())


def test_a_dropped_model_is_freed_at_once() -> None:
    m = small(clew)
    m(clew.ones(1, 2)).sum().backward()
    leaf, root = weakref.ref(m.b[0]), weakref.ref(m)
    gc.disable()
    try:
        del m
        assert root() is None and leaf() is None
    finally:
        gc.enable()


@twice
def test_dir_lists_what_is_registered(t: Any) -> Any:
    names = dir(small(t))
    wanted = ("a", "p", "q", "running", "nothing", "forward", "training", "state_dict")
    return [name in names for name in wanted], "0" in dir(t.nn.Sequential(t.nn.Identity()))


@twice
def test_repr_of_extra_lines(t: Any) -> Any:
    class Extra(t.nn.Module):
        def __init__(self, text: str, child: bool) -> None:
            super().__init__()
            self.text = text
            if child:
                self.child = t.nn.Identity()

        def extra_repr(self) -> str:
            return self.text

        def _get_name(self) -> str:
            return "Named"

    return [repr(Extra(text, child)) for text in ("", "x=1", "x\ny") for child in (False, True)]


@twice
def test_compile_and_call(t: Any) -> Any:
    class Scale(t.nn.Module):
        def forward(self, x: Any, *, factor: float = 1.0) -> Any:
            return x * factor

    m = Scale()
    return m.compile() if t is clew else None, m(t.ones(2), factor=3.0), m(x=t.ones(1))
