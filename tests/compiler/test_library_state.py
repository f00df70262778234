"""State of the library that a captured function reads or changes: seeds, modes, precision."""

from __future__ import annotations

import copy
import pickle
import threading
from typing import Any

import numpy as np
import pytest

import clew
from clew import nn
from tests.compiler.agreement import Wrap, assert_agreement, ones, shown


def np_generator(wrap: Wrap) -> Any:
    r = np.random.default_rng(0)
    f = wrap(lambda x: x * float(r.random()))
    return [shown(f(ones())) for _ in range(4)]


def clew_generator(wrap: Wrap) -> Any:
    g = clew.Generator()
    g.manual_seed(3)
    f = wrap(lambda x: x * clew.rand(2, generator=g))
    return [shown(f(ones())) for _ in range(4)]


def seed_inside(wrap: Wrap) -> Any:

    def g(x: Any) -> Any:
        clew.manual_seed(1)
        return x * clew.rand(2)

    f = wrap(g)
    out = []
    for i in range(3):
        clew.manual_seed(i + 10)
        out.append(shown(f(ones())))
        out.append(shown(clew.rand(1)))
    return out


def rng_state_inside(wrap: Wrap) -> Any:

    def g(x: Any) -> Any:
        s = clew.get_rng_state()
        y = x * clew.rand(2)
        clew.set_rng_state(s)
        return y

    f = wrap(g)
    out = []
    for i in range(3):
        clew.manual_seed(i + 10)
        out.append(shown(f(ones())))
        out.append(shown(clew.rand(1)))
    return out


def initial_seed(wrap: Wrap) -> Any:
    f = wrap(lambda x: x * clew.initial_seed())
    out = []
    for i in range(4):
        clew.manual_seed(i)
        out.append(shown(f(ones())))
    return out


def set_default_inside(wrap: Wrap) -> Any:

    def g(x: Any) -> Any:
        clew.set_default_dtype(clew.float64)
        return x * 1

    f = wrap(g)
    out = []
    for _ in range(3):
        clew.set_default_dtype(clew.float32)
        f(clew.ones(2))
        out.append(str(clew.get_default_dtype()))
    clew.set_default_dtype(clew.float32)
    return out


def grad_mode_left(wrap: Wrap) -> Any:

    def g(x: Any) -> Any:
        clew.set_grad_enabled(False)
        return x * 1

    f = wrap(g)
    out = []
    for _ in range(3):
        clew.set_grad_enabled(True)
        f(clew.ones(2))
        out.append(clew.is_grad_enabled())
    clew.set_grad_enabled(True)
    return out


def default_dtype(wrap: Wrap) -> Any:
    f = wrap(lambda x: clew.zeros(2) + 1.5)
    out = []
    for i in range(4):
        clew.set_default_dtype(clew.float64 if i % 2 else clew.float32)
        out.append(shown(f(ones() * 1.0)))
    clew.set_default_dtype(clew.float32)
    return out


def num_threads(wrap: Wrap) -> Any:
    f = wrap(lambda x: x * clew.get_num_threads())
    n = clew.get_num_threads()
    out = []
    for k in (1, 2, 1, 2):
        clew.set_num_threads(k)
        out.append(shown(f(ones())))
    clew.set_num_threads(n)
    return out


def deterministic_flag(wrap: Wrap) -> Any:
    f = wrap(lambda x: x * (2 if clew.are_deterministic_algorithms_enabled() else 3))
    out = []
    for i in range(4):
        clew.use_deterministic_algorithms(bool(i % 2))
        out.append(shown(f(ones())))
    clew.use_deterministic_algorithms(False)
    return out


def printoptions(wrap: Wrap) -> Any:
    f = wrap(lambda x: str(x))
    out = []
    for i in range(4):
        clew.set_printoptions(precision=2 + i)
        out.append(f(ones() / 3))
    clew.set_printoptions(profile="default")
    return out


def repr_inside(wrap: Wrap) -> Any:
    f = wrap(lambda x: repr(x))
    return [f(clew.tensor(v)) for v in ([1.0, 1.0], [2.0, 2.0], [1.0, 1.0], [3.0, 3.0])]


def autocast(wrap: Wrap) -> Any:
    lin = nn.Linear(2, 2)
    with clew.no_grad():
        for p in lin.parameters():
            p.fill_(0.5)
    f = wrap(lin)
    out = []
    for i in range(6):
        with clew.autocast("cpu", dtype=clew.bfloat16, enabled=bool(i % 2)):
            out.append(shown(f(ones())))
    return out


def transforms(wrap: Wrap) -> Any:
    f = wrap(lambda x: (x**3).sum())
    out = []
    for i in range(3):
        v = clew.tensor([1.0 + i, 2.0])
        out.append(shown(f(v)))
        out.append(shown(clew.func.grad(f)(v)))
        out.append(shown(clew.vmap(f)(clew.stack([v, v]))))
        out.append(shown(clew.func.jvp(f, (v,), (v,))))
        out.append(shown(clew.func.hessian(f)(v)))
    return out


def transform_inside(wrap: Wrap) -> Any:
    f = wrap(lambda x: clew.func.grad(lambda z: (z**3).sum())(x))
    g = wrap(lambda x: clew.vmap(lambda z: z * z.sum())(x))
    h = wrap(lambda x: clew.func.jvp(lambda z: z**2, (x,), (x,)))
    out = []
    for i in range(4):
        v = clew.tensor([[1.0 + i, 2.0]])
        out += [shown(f(v)), shown(g(v)), shown(h(v))]
    return out


def threads(wrap: Wrap) -> Any:
    f = wrap(lambda x: (x * 2 + 1).sum())
    out = [None] * 4

    def run(i: Any) -> Any:
        out[i] = [f(clew.full((4,), float(i * k))).item() for k in range(60)]

    ts = [threading.Thread(target=run, args=(i,)) for i in range(4)]
    [t.start() for t in ts]
    [t.join() for t in ts]
    return out


def deepcopies(wrap: Wrap) -> Any:
    m = nn.Linear(2, 2)
    m.weight.data.fill_(1.0)
    m.bias.data.fill_(0.0)
    f = wrap(m)
    f(ones())
    f(ones())
    c = copy.deepcopy(f)
    c.weight.data.fill_(5.0)
    d = pickle.loads(pickle.dumps(f))
    d.weight.data.fill_(6.0)
    return [
        shown(f(ones())),
        shown(c(ones())),
        shown(c(ones())),
        shown(d(ones())),
        shown(d(ones())),
        shown(f(ones())),
    ]


def buffers(wrap: Wrap) -> Any:
    bn = nn.BatchNorm1d(2)
    f = wrap(bn)
    out = []
    for i in range(5):
        if i == 3:
            bn.eval()
        if i == 4:
            bn.train()
            bn.momentum = None
        y = f(clew.arange(6.0).reshape(3, 2) * i)
        out.append(shown(y))
        out.append([shown(b) for b in bn.buffers()])
    return out


def stochastic_branch(wrap: Wrap) -> Any:

    def g(x: Any) -> Any:
        return x * 2 if clew.rand(()).item() > 0.5 else x * 3

    f = wrap(g)
    clew.manual_seed(0)
    return [shown(f(ones())) for _ in range(8)] + [clew.rand(1).item()]


def multinomial(wrap: Wrap) -> Any:
    f = wrap(
        lambda x: (
            clew.multinomial(x, 2),
            clew.randperm(4),
            clew.bernoulli(x),
            clew.normal(x, 1.0),
            x.clone().uniform_(),
            x.clone().random_(10),
            clew.randint(0, 5, (3,)),
        )
    )
    out = []
    for i in range(4):
        clew.manual_seed(i)
        out.append(shown(f(clew.tensor([0.2, 0.3, 0.5]))))
        out.append(clew.rand(1).item())
    return out


def distributions(wrap: Wrap) -> Any:
    f = wrap(
        lambda m: (
            clew.distributions.Normal(m, 1.0).rsample(),
            clew.distributions.Categorical(logits=m).sample(),
        )
    )
    out = []
    for i in range(4):
        clew.manual_seed(i)
        out.append(shown(f(clew.tensor([0.2, 0.3, 0.5]))))
        out.append(clew.rand(1).item())
    return out


SCENARIOS = [
    np_generator,
    clew_generator,
    seed_inside,
    rng_state_inside,
    initial_seed,
    set_default_inside,
    grad_mode_left,
    default_dtype,
    num_threads,
    deterministic_flag,
    printoptions,
    repr_inside,
    autocast,
    transforms,
    transform_inside,
    threads,
    deepcopies,
    buffers,
    stochastic_branch,
    multinomial,
    distributions,
]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.__name__)
@pytest.mark.filterwarnings("ignore")
def test_compiled_is_eager(scenario: Any) -> None:
    assert_agreement(scenario)
