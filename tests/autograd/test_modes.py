"""Grad modes: as contexts and decorators, on generators, in threads; inference tensors."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from tests.twice import raised, twice

MODES = ["no_grad", "enable_grad", "inference_mode"]


def flags(torch: Any) -> tuple[bool, bool]:
    return torch.is_grad_enabled(), torch.is_inference_mode_enabled()


# ---------------------------------------------------------------- contexts


@pytest.mark.parametrize("name", MODES)
def test_context(name: str) -> None:
    def scenario(torch: Any) -> Any:
        x = torch.ones(2, requires_grad=True)
        seen = [flags(torch)]
        with getattr(torch, name)():
            seen.append(flags(torch))
            y = x * 2
        seen.append(flags(torch))
        return seen, y.requires_grad, y.is_leaf

    twice(scenario)()


@twice
def test_nesting(torch: Any) -> Any:
    seen = []
    with torch.no_grad():
        seen.append(flags(torch))
        with torch.enable_grad():
            seen.append(flags(torch))
            with torch.set_grad_enabled(False):
                seen.append(flags(torch))
                with torch.inference_mode():
                    seen.append(flags(torch))
                    with torch.inference_mode(False):
                        seen.append(flags(torch))
                    with torch.enable_grad():
                        seen.append(flags(torch))
                seen.append(flags(torch))
            seen.append(flags(torch))
        seen.append(flags(torch))
    return [*seen, flags(torch)]


@twice
def test_set_grad_enabled_acts_at_once(torch: Any) -> Any:
    seen = []
    torch.set_grad_enabled(False)
    seen.append(torch.is_grad_enabled())
    torch.set_grad_enabled(True)
    seen.append(torch.is_grad_enabled())
    with torch.set_grad_enabled(mode=False):
        seen.append(torch.is_grad_enabled())
    return [*seen, torch.is_grad_enabled(), raised(torch.set_grad_enabled, words=0)]


@twice
def test_one_object_entered_twice(torch: Any) -> Any:
    mode = torch.no_grad()
    seen = []
    for _ in range(2):
        with mode:
            seen.append(torch.is_grad_enabled())
        seen.append(torch.is_grad_enabled())
    return seen


@twice
def test_exceptions_restore_the_mode(torch: Any) -> Any:
    seen = []
    for mode in (torch.no_grad(), torch.inference_mode(), torch.enable_grad()):
        try:
            with mode:
                raise ValueError("inside")
        except ValueError:
            seen.append(flags(torch))
    with torch.no_grad():
        try:
            with torch.set_grad_enabled(True):
                raise ValueError("inside")
        except ValueError:
            seen.append(flags(torch))
    return seen


@twice
def test_in_place_under_no_grad(torch: Any) -> Any:
    p = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        p -= 0.5
        p.mul_(2)
        p[0] = 7
        q = p.clone()
    return p.detach(), p.requires_grad, p.is_leaf, q.requires_grad, p._version


@twice
def test_no_grad_view_cannot_be_written_to(torch: Any) -> Any:
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    with torch.no_grad():
        view = y[:2]
    return raised(view.mul_, 2, words=15), raised(lambda: y.mul_(2))


@twice
def test_requires_grad_of_new_tensors_in_no_grad(torch: Any) -> Any:
    with torch.no_grad():
        leaf = torch.ones(2, requires_grad=True)
        result = leaf * 2
    (leaf * 3).sum().backward()
    return leaf.requires_grad, result.requires_grad, leaf.grad


# ---------------------------------------------------------------- decorators


@pytest.mark.parametrize("name", MODES)
@pytest.mark.parametrize("parentheses", [True, False])
def test_decorator(name: str, parentheses: bool) -> None:
    def scenario(torch: Any) -> Any:
        mode = getattr(torch, name)
        decorate = mode() if parentheses else mode

        @decorate
        def inner(a: int, *, b: int = 2) -> Any:
            """What it says."""
            return flags(torch), a, b

        with torch.no_grad():
            nested = inner(1, b=5)
        return inner.__name__, inner.__doc__, inner(1), nested, flags(torch)

    twice(scenario)()


@twice
def test_decorator_with_argument(torch: Any) -> Any:
    @torch.set_grad_enabled(False)
    def off() -> Any:
        return flags(torch)

    @torch.inference_mode(False)
    def still_on() -> Any:
        return flags(torch)

    @torch.inference_mode(mode=True)
    def inference() -> Any:
        return flags(torch)

    return flags(torch), off(), still_on(), inference(), flags(torch)


@twice
def test_decorated_function_may_recurse_and_raise(torch: Any) -> Any:
    @torch.no_grad()
    def countdown(n: int) -> list[bool]:
        if n == 0:
            raise ValueError("bottom")
        try:
            return [torch.is_grad_enabled(), *countdown(n - 1)]
        except ValueError:
            return [torch.is_grad_enabled()]

    return countdown(3), torch.is_grad_enabled()


@twice
def test_decorated_method(torch: Any) -> Any:
    class Model:
        scale = 3

        @torch.no_grad()
        def predict(self, x: Any) -> Any:
            return x * self.scale

    return Model().predict(torch.ones(2, requires_grad=True))


# ---------------------------------------------------------------- generators


@twice
def test_generator_runs_in_the_mode_and_its_caller_does_not(torch: Any) -> Any:
    @torch.no_grad()
    def steps() -> Any:
        for number in range(3):
            yield number, torch.is_grad_enabled()

    seen = []
    for number, inside in steps():
        seen.append((number, inside, torch.is_grad_enabled()))
    return seen


@twice
def test_generator_send_throw_close(torch: Any) -> Any:
    log: list[Any] = []

    @torch.no_grad()
    def conversation() -> Any:
        try:
            received = yield "first"
            log.append((received, torch.is_grad_enabled()))
            try:
                yield "second"
            except ValueError as error:
                log.append((str(error), torch.is_grad_enabled()))
            yield "third"
        finally:
            log.append(("closing", torch.is_grad_enabled()))

    talk = conversation()
    seen = [next(talk), talk.send("hello"), talk.throw(ValueError("oh"))]
    talk.close()
    return seen, log, torch.is_grad_enabled()


@twice
def test_generator_returns_and_raises(torch: Any) -> Any:
    @torch.no_grad()
    def returning() -> Any:
        yield 1
        return "value"

    @torch.no_grad()
    def raising() -> Any:
        yield 1
        raise KeyError("inside")

    def delegate() -> Any:
        return (yield from returning())

    outer = delegate()
    seen = [next(outer)]
    try:
        next(outer)
    except StopIteration as stop:
        seen.append(stop.value)
    failing = raising()
    next(failing)
    return seen, raised(next, failing), torch.is_grad_enabled()


@twice
def test_generator_interleaved_with_other_modes(torch: Any) -> Any:
    @torch.enable_grad()
    def steps() -> Any:
        while True:
            yield torch.is_grad_enabled()

    running = steps()
    seen = [next(running)]
    with torch.no_grad():
        seen += [next(running), torch.is_grad_enabled()]
    return [*seen, next(running), torch.is_grad_enabled()]


# ---------------------------------------------------------------- threads


@twice
def test_modes_belong_to_the_thread(torch: Any) -> Any:
    seen: dict[str, Any] = {}
    entered, leave = threading.Event(), threading.Event()

    def other() -> None:
        seen["fresh thread"] = flags(torch)
        with torch.no_grad():
            entered.set()
            leave.wait(10)
            seen["inside"] = flags(torch)

    with torch.inference_mode():
        thread = threading.Thread(target=other)
        thread.start()
    entered.wait(10)
    seen["main"] = flags(torch)
    leave.set()
    thread.join()
    return [seen[key] for key in ("fresh thread", "main", "inside")]


# ---------------------------------------------------------------- inference tensors


@twice
def test_inference_tensors(torch: Any) -> Any:
    normal = torch.ones(2)
    with torch.inference_mode():
        made = torch.ones(2)
        view_of_normal = normal[:1]
        result = normal * 2
    return [
        (t.is_inference(), t.requires_grad)
        for t in (normal, made, view_of_normal, result, made.clone(), made[:1], made * 2)
    ]


@twice
def test_inference_tensor_errors(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    with torch.inference_mode():
        made = torch.ones(2)
    return [
        raised(lambda: made._version, words=7),
        raised(lambda: x * made, words=7),
        raised(lambda: made * x, words=7),
        raised(made.add_, 1, words=9),
        raised(made[:1].add_, 1, words=9),
        raised(lambda: made.__setitem__(0, 1), words=9),
        raised(made.requires_grad_, words=9),
        (x + made).requires_grad,
    ]


@twice
def test_no_grad_views_require_grad_but_lead_nowhere(torch: Any) -> Any:
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    with torch.no_grad():
        view = y[:2]
    (view * 3).sum().backward()
    return view.requires_grad, view.is_leaf, x.grad


@twice
def test_clone_makes_a_normal_tensor(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    with torch.inference_mode():
        made = torch.ones(2) * 3
        inside = made.clone()
    outside = made.clone()
    (x * outside).sum().backward()
    outside.add_(1)
    return inside.is_inference(), outside.is_inference(), x.grad, outside


@twice
def test_inference_writes_to_normal_tensors(torch: Any) -> Any:
    normal = torch.ones(2)
    with torch.inference_mode():
        normal.add_(1)
        made = torch.zeros(2)
        made.add_(5)
        made[0] = 1
    return normal, normal._version, made, normal.is_inference()


@twice
def test_leaf_made_in_inference_mode(torch: Any) -> Any:
    with torch.inference_mode():
        leaf = torch.ones(2, requires_grad=True)
        result = leaf * 2
    return leaf.requires_grad, leaf.is_inference(), result.requires_grad, result.is_inference()


@twice
def test_view_of_a_normal_tensor_made_in_inference_mode(torch: Any) -> Any:
    x = torch.ones(3, requires_grad=True)
    y = x * 1
    with torch.inference_mode():
        view = y[:2]
    return view.is_inference(), raised(view.mul_, 2, words=14)


@twice
def test_using_inference_tensors_without_saving_them(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    with torch.inference_mode():
        made = torch.full((2,), 3.0)
    with torch.no_grad():
        product = x * made
    (x + made).sum().backward()
    return product, x.grad


@twice
def test_shapes_changed_in_place_without_grad_keep_the_history(torch: Any) -> Any:
    seen: list[Any] = []
    for mode in ("no_grad", "inference_mode"):
        for change in ("squeeze_", "t_", "detach_", "requires_grad_"):
            x = torch.ones(3, 3, requires_grad=True)
            leaf, y, view = torch.ones(1, requires_grad=True), x.exp(), x.exp().view(-1)
            with getattr(torch, mode)():
                for each in (leaf, y, *([view] if mode == "inference_mode" else [])):
                    if each is not view or change == "detach_":
                        getattr(each, change)()
            seen += [
                leaf.requires_grad,
                y.is_leaf,
                y.requires_grad,
                y.shape,
                raised(y.sum().backward),
            ]
            seen.append(x.grad)
    return seen
