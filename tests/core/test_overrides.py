"""`__torch_function__`: subclasses, other classes and modes that take over functions."""

from __future__ import annotations

import copy
import inspect
import pickle
import subprocess
import sys
import threading
from typing import Any, ClassVar

import pytest
import torch

import clew
from clew.core import overrides
from tests.twice import outcome, raised, twice


def logging_class(lib: Any) -> Any:
    """A subclass that notes the names of what it takes over."""

    class Logged(lib.Tensor):
        log: ClassVar[list[tuple[Any, ...]]] = []

        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            cls.log.append((func.__name__, tuple(kind.__name__ for kind in types), len(args)))
            return super().__torch_function__(func, types, args, kwargs)

    return Logged


def seen(lib: Any, *programs: str) -> list[Any]:
    """For each expression over s (a subclass) and x: the type of its value, and what was seen."""
    kind = logging_class(lib)
    found = []
    for program in programs:
        x = lib.arange(4.0).reshape(2, 2) + 1
        names = {"s": (x * 2).as_subclass(kind), "x": x, "lib": lib, "F": lib.nn.functional}
        kind.log.clear()
        value = outcome(lambda program=program, names=names: eval(program, names))
        found.append((program, type(value).__name__, list(kind.log)))
    return found


@twice
def test_operators(lib: Any) -> Any:
    return seen(
        lib, "s+1", "1+s", "x+s", "s+x", "x-s", "1-s", "s*2", "s/2", "s//2", "s%2", "2%s",
        "s**2", "2**s", "s@x", "x@s", "-s", "abs(s)", "~(s>0)", "s==s", "x==s", "s!=1", "+s",
        "s<1", "s<=x", "x>=s",
    )  # fmt: skip


@twice
def test_methods(lib: Any) -> Any:
    return seen(
        lib, "s.add(1)", "x.add(s)", "x.add_(s)", "s.add_(1)", "s.sum()", "s.sum(dim=0)",
        "s.max(dim=0)", "s.unbind()", "s.chunk(2)", "s.new_zeros(2)", "s.to(lib.float64)",
        "s.double()", "s.type()", "s.view(4)", "s.size()", "s.size(0)", "s.dim()", "s.numel()",
        "s.stride()", "len(s)", "float(s[0,0])", "bool(s[0,0])", "s[0]", "s[0,1]", "s[s>0]",
        "x[s>0]", "s.tolist()", "s.clone()", "s.detach()", "s.numpy()", "x.__setitem__(0,s[0])",
        "x.type_as(s)", "hash(s)", "1 in s", "s.requires_grad_()",
        "s.as_subclass(lib.Tensor)", "s.argmax()", "s.is_contiguous()", "s.data_ptr()",
    )  # fmt: skip


@twice
def test_properties(lib: Any) -> Any:
    return seen(
        lib, "s.shape", "s.grad", "s.T", "s.mT", "s.data", "s.dtype", "s.device", "s.is_leaf",
        "s.requires_grad", "s.grad_fn", "s.ndim", "s.layout", "s.real", "s.is_cuda", "s._version",
        "s.output_nr", "s.is_sparse", "s.nbytes", "s.retains_grad",
    )  # fmt: skip


@twice
def test_functions(lib: Any) -> Any:
    return seen(
        lib, "lib.add(x,s)", "lib.add(s,1,alpha=2)", "lib.cat([x,s])", "lib.stack((s,x))",
        "lib.where(s>0,s,x)", "lib.sum(s)", "lib.zeros_like(s)", "lib.is_tensor(s)",
        "lib.numel(s)", "lib.max(s,0)", "lib.add(x,x,out=s)", "F.linear(x,s)", "F.gelu(s)",
        "F.scaled_dot_product_attention(s,s,s)", "lib.nn.Linear(2,2)(s)", "lib.relu_(s)",
        "lib.allclose(s,x)", "lib.equal(s,x)", "lib.full_like(s,1)", "lib.rand_like(s)",
        "lib.result_type(s,x)", "lib.arange(s.sum())", "lib.full((2,),s[0,0])",
        "lib._foreach_add([s],1)", "F.conv1d(s[None],s[None])", "lib.clamp(s,0,1)",
        "lib.nn.Parameter(x)", "lib.einsum('ij->i',s)",
    )  # fmt: skip


@twice
def test_results_are_of_the_subclass(lib: Any) -> Any:
    """Without a `__torch_function__` of its own, a subclass has the one of Tensor."""

    class A(lib.Tensor):
        pass

    class B(lib.Tensor):
        pass

    class C(A):
        pass

    x = lib.ones(2)
    a, b, c = x.as_subclass(A), x.as_subclass(B), x.as_subclass(C)
    names = [type(v).__name__ for v in (a + 1, a + c, c + a, x + a, lib.nn.Parameter(x) + a)]
    parts = [type(v).__name__ for v in C(lib.ones(2, 2)).max(0)]
    wrong = raised(lambda: a + b), raised(lib.add, a, b), raised(x.as_subclass, int)
    return names, parts, wrong, repr(a), repr(C([1.0, 2.0])), type(lib.nn.Parameter(a)).__name__


@twice
def test_gradients_go_to_the_leaf_that_became_a_subclass(lib: Any) -> Any:
    class Pose(lib.Tensor):
        pass

    x = lib.tensor([1.0, 2.0], requires_grad=True)
    (x.as_subclass(Pose) * 3).sum().backward()
    pose = Pose(lib.tensor([1.0, 2.0])).requires_grad_()
    plain = lib.Tensor.as_subclass(pose, lib.Tensor)
    (plain * plain).sum().backward()
    with lib.no_grad():
        cut = x.as_subclass(Pose)
    return x.grad, pose.grad.as_subclass(lib.Tensor), plain.is_leaf, cut.grad_fn, cut.requires_grad


@twice
def test_disabled_classes_and_parameters_give_plain_tensors(lib: Any) -> Any:
    class Z(lib.Tensor):
        __torch_function__ = lib._C._disabled_torch_function_impl

    class P(lib.nn.Parameter):
        pass

    x = lib.ones(2)
    parameter = lib.nn.Parameter(x)
    values = (x.as_subclass(Z) + 1, P(x) + 1, parameter + parameter, parameter.clone())
    return [type(value) is lib.Tensor for value in values]


@twice
def test_the_default_handler_declines_strangers(lib: Any) -> Any:
    class A(lib.Tensor):
        pass

    class B(lib.Tensor):
        pass

    x = lib.ones(2)
    of_b = A.__torch_function__(lib.add, (B,), (x.as_subclass(B), 1), {})
    plain = A.__torch_function__(lib.add, (lib.Tensor,), (x, 1), {})
    return of_b is NotImplemented, type(plain).__name__


def duck_classes() -> tuple[Any, Any]:
    class Duck:
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return func.__name__, [kind.__name__ for kind in types], sorted(kwargs or {})

    class Silent:
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return NotImplemented

    return Duck, Silent


@twice
def test_classes_that_are_no_tensors(lib: Any) -> Any:
    Duck, Silent = duck_classes()
    x, d = lib.ones(2), Duck()
    values = [
        lib.add(x, d), lib.add(x, other=d), x + d, d + x, x - d, x / d, x > d, x @ d, x[d], x[d, 0],
        lib.add(Silent(), d), lib.cat([x, d]), lib.sum(d), lib.sum(x, dim=d), lib.stack((d,)),
        lib.nn.functional.linear(d, x), lib.zeros_like(d), lib.ones(d), lib.arange(d),
        x.reshape(d), x.view(d, 1), lib.clone(d), lib.is_tensor(d),
    ]  # fmt: skip
    wrong = raised(lib.add, x, Silent()), raised(lambda: x + Silent()), raised(lib.tensor, d)
    in_python = raised(lib.nn.functional.relu, Silent(), words=12)
    return values, wrong, in_python, raised(lib.cat, [x, Silent()])


@twice
def test_a_plain_method_is_deprecated(lib: Any) -> Any:
    class Old:
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return func.__name__

    return lib.add(lib.ones(1), Old())


@twice
def test_blocks_that_disable(lib: Any) -> Any:
    kind = logging_class(lib)
    a = lib.ones(2).as_subclass(kind)
    has = lib.overrides.has_torch_function
    found = []
    for block in (lib._C.DisableTorchFunctionSubclass, lib._C.DisableTorchFunction):
        with block():
            found.append((type(a + 1) is lib.Tensor, has((a,)), len(kind.log)))
    return found, type(a + 1).__name__, has((a,)), has((lib.ones(1), 1))


# -- modes ---------------------------------------------------------------------------------------


def logging_mode(lib: Any, log: list[Any], name: str = "") -> Any:
    class Log(lib.overrides.TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            log.append((name, func.__name__, len(args), sorted(kwargs or {})))
            return func(*args, **(kwargs or {}))

    return Log()


@twice
def test_a_mode_sees_everything(lib: Any) -> Any:
    log: list[Any] = []
    x = lib.ones(2, 2)
    with logging_mode(lib, log):
        _ = x + 1, 1 + x, x.add(1), x.shape, x[0], x.new_zeros(1), x.T, len(x)
        _ = lib.ones(2), lib.zeros(2, dtype=lib.int32), lib.tensor([1]), lib.arange(3)
        _ = lib.randn(2), lib.eye(2), lib.full((2,), 1.0), lib.nn.functional.linear(x, x)
        _ = lib.manual_seed(0), lib.is_tensor(x), lib.Tensor([1.0]), lib.is_grad_enabled()
    return log


@twice
def test_modes_are_nested_and_entered_again(lib: Any) -> Any:
    log: list[Any] = []
    x = lib.ones(2)
    a, b = logging_mode(lib, log, "a"), logging_mode(lib, log, "b")
    with a, b:
        x + 1
    with a, a:
        x * 2
    x - 1
    with a:
        with lib._C.DisableTorchFunctionSubclass():
            x / 2
        with lib._C.DisableTorchFunction():
            x / 3
    return log, raised(a.__exit__, None, None, None)


@twice
def test_a_mode_comes_before_classes(lib: Any) -> Any:
    log: list[Any] = []

    class A(lib.Tensor):
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            log.append("class")
            return super().__torch_function__(func, types, args, kwargs)

    with logging_mode(lib, log, "mode"):
        kind = type(lib.ones(1).as_subclass(A) + 1).__name__
    return log, kind


@twice
def test_a_mode_may_decline(lib: Any) -> Any:
    class Decline(lib.overrides.TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return NotImplemented

    x = lib.ones(1)
    with Decline():
        wrong = raised(lambda: x + 1), raised(lib.add, x, 1)
    return wrong, raised(lib.overrides.TorchFunctionMode().__torch_function__, 1, 2)


@twice
def test_the_stack_of_modes(lib: Any) -> Any:
    current = lib.overrides._get_current_function_mode
    mode = logging_mode(lib, [])
    before = current()
    with mode:
        inside = current() is mode, lib._C._len_torch_function_stack()
        has = lib.overrides.has_torch_function((lib.ones(1),))
    with lib.overrides.BaseTorchFunctionMode():
        total = lib.ones(2) + 1
    return before, inside, has, total, lib.overrides._get_current_function_mode_stack()


def test_a_mode_is_of_one_thread() -> None:
    log: list[Any] = []
    results: list[Any] = []
    with logging_mode(clew, log):
        thread = threading.Thread(target=lambda: results.append(clew.ones(1) + 1))
        thread.start()
        thread.join()
    assert not log
    assert results[0].item() == 2


def test_an_error_in_a_handler_leaves_the_mode_as_it_was() -> None:
    class Broken(clew.overrides.TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            raise KeyError(func.__name__)

    with Broken() as mode:
        for _ in range(2):
            with pytest.raises(KeyError, match="add"):
                clew.Tensor.add(clew.core.tensor.wrap([1.0]), 1)
            assert clew.overrides._get_current_function_mode() is mode
    assert clew.overrides._get_current_function_mode() is None


# -- training and copies -------------------------------------------------------------------------


@twice
def test_gradients_of_a_subclass(lib: Any) -> Any:
    class A(lib.Tensor):
        pass

    weight = lib.nn.Parameter(lib.tensor([1.0, 2.0]).as_subclass(A))
    loss = (weight * weight).sum()
    loss.backward()
    kinds = type(weight).__name__, type(loss).__name__, type(weight.grad) is lib.Tensor
    (again,) = lib.autograd.grad((weight**3).sum(), weight)
    return kinds, isinstance(weight, lib.nn.Parameter), weight.grad, again.as_subclass(lib.Tensor)


def test_a_subclass_under_transforms() -> None:
    class A(clew.Tensor):
        pass

    scale = clew.tensor([2.0, 3.0]).as_subclass(A)
    x = clew.ones(4, 2)
    assert clew.func.vmap(lambda row: (row * scale).sum())(x).tolist() == [5.0] * 4
    value, tangent = clew.func.jvp(lambda s: s * s, (scale,), (clew.ones(2),))
    assert (value.tolist(), tangent.tolist()) == ([4.0, 9.0], [4.0, 6.0])
    assert clew.func.grad(lambda s: (s * s).sum())(scale).tolist() == [4.0, 6.0]


class Picklable(clew.Tensor):
    pass


def test_a_subclass_is_copied_with_its_attributes() -> None:
    value = clew.ones(2).as_subclass(Picklable)
    value.note = 3
    loaded = pickle.loads(pickle.dumps(value))
    for each in (copy.copy(value), copy.deepcopy(value), loaded):
        assert type(each) is Picklable
        assert each.note == 3


# -- torch.overrides -----------------------------------------------------------------------------


@twice
def test_questions(lib: Any) -> Any:
    o = lib.overrides
    Duck, Silent = duck_classes()
    x = lib.ones(1)
    has = [
        o.has_torch_function((x,)), o.has_torch_function((x, Duck())),
        o.has_torch_function_unary(x), o.has_torch_function_variadic(x, Duck()),
        o.has_torch_function((lib.nn.Parameter(x),)), o.is_tensor_like(Duck()),
        o.is_tensor_like(x), o.is_tensor_like(1), o.is_tensor_method_or_property(lib.Tensor.add),
        o.is_tensor_method_or_property(lib.add),
        o.is_tensor_method_or_property(lib.Tensor.shape.__get__),
    ]  # fmt: skip
    handled = o.handle_torch_function(lib.add, (Duck(),), Duck(), 1, k=2)
    declined = raised(o.handle_torch_function, lib.add, (Silent(),), Silent(), 1, words=12)
    return has, handled, declined


@twice
def test_names(lib: Any) -> Any:
    functions = (
        lib.add, lib.Tensor.add, lib.nn.functional.relu, lib.Tensor.shape.__get__, len,
        lib.Tensor.__add__, lib.linalg.inv, lib.Tensor.__radd__, lib.special.ndtri,
    )  # fmt: skip
    return [lib.overrides.resolve_name(function) for function in functions]


@twice
def test_wrapped_functions(lib: Any) -> Any:
    Duck, _ = duck_classes()

    @lib.overrides.wrap_torch_function(lambda a: (a,))
    def double(a: Any) -> Any:
        return a + a

    return double(lib.ones(1)), double(Duck())


def test_tables_of_functions() -> None:
    o = clew.overrides
    listed = o.get_overridable_functions()
    assert clew.add in listed[clew]
    assert clew.Tensor.add in listed[clew.Tensor]
    assert clew.nn.functional.relu in listed[clew.nn.functional]
    assert clew.Tensor.shape.__get__ in listed[clew.Tensor.shape]
    imitations = o.get_testing_overrides()
    assert imitations[clew.add](1, 2) == -1
    assert list(inspect.signature(imitations[clew.nn.functional.dropout]).parameters) == [
        "input", "p", "training", "inplace",
    ]  # fmt: skip
    ignored = o.get_ignored_functions()
    assert clew.is_tensor in ignored
    assert clew.manual_seed in ignored
    assert clew.add not in ignored


def test_what_pytorch_lets_take_over_can_be_taken_over() -> None:
    """Every function of PyTorch's table that clew has is in clew's."""
    theirs = {torch.overrides.resolve_name(f) for f in torch.overrides.get_testing_overrides()}
    ours = {name for _, _, name in overrides.every_member()}
    modules = ("torch.", "torch.Tensor.", "torch.linalg.", "torch.fft.", "torch.nn.functional.")
    missing = []
    for name in sorted(filter(None, theirs)):
        prefix, _, last = name.rpartition(".")
        if f"{prefix}." not in modules or last.startswith("_"):
            continue
        owner: Any = clew
        for part in prefix.split(".")[1:]:
            owner = getattr(owner, part)
        if inspect.isfunction(inspect.getattr_static(owner, last, None)) and name not in ours:
            missing.append(name)
    assert not missing


PLAIN = """
import clew, clew.nn, clew.func, clew.optim, clew.distributions, clew.overrides, clew._C
from clew import add
from clew.core import overrides
assert not overrides.SWITCHED
code, signature = add.__code__, __import__("inspect").signature(add)
assert clew.nn.Linear(2, 2)(clew.ones(1, 2)).sum().item()
assert add.__code__ is code
{what}
assert overrides.SWITCHED and add.__code__ is not code and add is clew.add
assert __import__("inspect").signature(add) == signature
assert {check}
print("good")
"""
# Made without a name that tells the program's code what it is.
DUCK = (
    "D = type('D', (), {'__torch_' + 'function__': "
    "classmethod(lambda cls, func, types, *a: func.__name__)})\n"
)


@pytest.mark.parametrize(
    ("what", "check"),
    [
        ("class A(clew.Tensor): pass", "type(add(clew.ones(1), clew.ones(1).as_subclass(A))) is A"),
        ("with clew.overrides.BaseTorchFunctionMode(): pass", "add(clew.ones(1), 1) == 2"),
        (f"{DUCK}x = add(clew.ones(1), D())", "x == 'add'"),
        (f"{DUCK}x = clew.ones(1) + D()", "x == 'add'"),
        (f"{DUCK}x = clew.cat([clew.ones(1), D()])", "x == 'cat'"),
        (f"{DUCK}x = clew.overrides.has_torch_function([D()])", "x"),
    ],
)
def test_functions_stay_as_they_are_until_something_takes_over(what: str, check: str) -> None:
    """In a fresh process: the first class or mode switches, also for names bound before."""
    program = PLAIN.format(what=what, check=check)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "good\n", done.stderr


def test_a_program_that_names_it_switches_on() -> None:
    program = """
import clew
from clew.core import overrides
assert overrides.SWITCHED
class D:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func.__name__
x = clew.ones(2)
print(x.where(D(), x), clew.nn.functional.relu(D()), x.expand_as(D()), x < D())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "where relu expand_as lt\n", done.stderr
