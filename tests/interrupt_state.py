"""What an interrupt must leave as it was before: the state of clew, and what a step computes."""

from __future__ import annotations

import gc
from typing import Any

import clew as torch
from clew import observer
from clew.amp.settings import casting
from clew.backend import device as devices
from clew.core import node, printing
from clew.core.state import State, local
from clew.nn.utils import parametrize
from clew.utils import checkpoint as checkpoints
from clew.utils.checkpoint import checkpoint

# What backward ran last is only told in messages.
SLOTS = tuple(sorted(set(State.__slots__) - {"last_backward"}))


def state() -> dict[str, Any]:
    """All that an interrupt might leave changed, by name."""
    settings = casting()
    found = {name: getattr(local.state, name) for name in SLOTS}
    found["pending_products"] = len(found["pending_products"])
    found |= {
        "autocast settings": (
            {kind for kind, on in settings.enabled.items() if on}, dict(settings.dtype),
            settings.cache_enabled, settings.nesting, len(settings.cache),
        ),
        "default device": (devices._local.default, devices._local.entered),
        "default dtype": torch.get_default_dtype(),
        "print options": printing._current,
        "parametrize.cached": (parametrize._Cache.depth, len(parametrize._Cache.values)),
        "checkpoint options": (checkpoints._early_stop, checkpoints._debug),
        "lock of .grad": node._accumulate_lock.locked(),
        "garbage collector": gc.isenabled(),
        "observer": observer.active.observer,
        "lock of the stream": torch.default_generator.stream.lock._is_owned(),
    }  # fmt: skip
    return found


def changed(before: dict[str, Any]) -> list[str]:
    """The names of what differs from before."""
    now = state()
    return [
        f"{name}: {before[name]!r} -> {now[name]!r}" for name in now if now[name] != before[name]
    ]


def reference() -> list[float]:
    """Numbers that a training step from a seed gives, if all is well."""
    with torch.random.fork_rng():
        torch.manual_seed(3)
        model = torch.nn.Sequential(
            torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Dropout(0.5), torch.nn.Linear(8, 2)
        )
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
        x = torch.randn(5, 4)
        for _ in range(2):
            optimizer.zero_grad()
            loss = checkpoint(model, x, use_reentrant=False).square().mean()
            loss.backward()
            optimizer.step()
        second = torch.autograd.grad(
            torch.autograd.grad(model(x).square().sum(), model[0].weight, create_graph=True)[0]
            .square()
            .sum(),
            model[0].weight,
        )[0]
        outs = [loss, *model.parameters(), second, torch.func.vmap(torch.sin)(x)]
        assert not torch.sin(x).requires_grad
    return [float(each.detach().double().sum()) for each in outs]
