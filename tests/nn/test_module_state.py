"""State dicts: keys, metadata, loading, errors, hooks."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from tests.twice import raised, twice


def small(t: Any) -> Any:
    class Small(t.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = t.nn.Linear(2, 3)
            self.b = t.nn.Sequential(t.nn.Linear(3, 3), t.nn.Identity())
            self.register_buffer("running", t.zeros(3))
            self.register_buffer("scalar", t.tensor(3.0))

    return Small()


def message(function: Any, *args: Any, **kwargs: Any) -> str:
    """The whole text of an error."""
    try:
        function(*args, **kwargs)
    except Exception as error:  # the error is the outcome
        return f"{type(error).__name__}: {error}"
    return "nothing raised"


@twice
def test_keys_metadata_and_sharing(t: Any) -> Any:
    m = small(t)
    state = m.state_dict()
    kept = m.state_dict(keep_vars=True)
    return (
        type(state).__name__, list(state), state._metadata,
        list(m.state_dict(prefix="x.")), m.state_dict(prefix="x.")._metadata,
        state["running"].data_ptr() == m.running.data_ptr(), state["a.weight"].requires_grad,
        kept["a.weight"] is m.a.weight, state["a.weight"],
    )  # fmt: skip


@twice
def test_destination_and_positions(t: Any) -> Any:
    m = small(t)
    given: Any = OrderedDict()
    same = m.state_dict(destination=given) is given
    positional = m.state_dict(OrderedDict(), "q.", True)
    return same, list(given), hasattr(given, "_metadata"), list(positional)


@twice
def test_loading_reports_keys(t: Any) -> Any:
    m = small(t)
    state = m.state_dict()
    other = OrderedDict(state, zzz=t.ones(1))
    other["b.1.x"] = other["b.0.foo.bar"] = t.ones(1)
    other["a._extra_state"] = 3
    del other["a.bias"]
    result = m.load_state_dict(other, strict=False)
    return (
        repr(m.load_state_dict(state)), str(m.load_state_dict(state)), repr(result),
        result.missing_keys, result.unexpected_keys, m.load_state_dict({}, strict=False),
    )  # fmt: skip


@twice
def test_errors_of_loading(t: Any) -> Any:
    m = small(t)
    wrong = dict(m.state_dict(), zzz=t.ones(1))
    wrong["b.7.weight"] = t.ones(1)
    wrong["a.weight"] = t.ones(5, 5)
    wrong["running"] = 3
    del wrong["a.bias"]
    vector = dict(m.state_dict(), scalar=t.tensor([5.0, 6.0]))
    return (
        message(m.load_state_dict, {}),
        message(m.load_state_dict, wrong),
        message(m.load_state_dict, wrong, strict=False),
        message(m.load_state_dict, vector),
        message(m.load_state_dict, 3),
        raised(m.load_state_dict, wrong, words=20),
    )


@twice
def test_loading_copies_or_assigns(t: Any) -> Any:
    m = small(t)
    weight = m.a.weight
    other = {key: value.double() + 1 for key, value in small(t).state_dict().items()}
    m.load_state_dict(other)
    copied = [m.a.weight is weight, str(weight.dtype), weight.clone()]
    m.load_state_dict(other, assign=True)
    assigned = [m.a.weight is weight, str(m.a.weight.dtype), m.a.weight.requires_grad]
    assigned += [type(m.a.weight).__name__, m.running is other["running"]]
    frozen = small(t).requires_grad_(False)
    kept = small(t).state_dict(keep_vars=True)
    frozen.load_state_dict(kept, assign=True)
    return copied, assigned, frozen.a.weight is kept["a.weight"], frozen.a.weight.requires_grad


@twice
def test_numbers_of_old_files(t: Any) -> Any:
    m = small(t)
    m.load_state_dict(dict(m.state_dict(), scalar=t.tensor([5.0])))
    return m.scalar


@twice
def test_extra_state(t: Any) -> Any:
    class Extra(t.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.count = 1
            self.layer = t.nn.Linear(1, 1)

        def get_extra_state(self) -> Any:
            return {"count": self.count}

        def set_extra_state(self, state: Any) -> None:
            self.count = state["count"]

    first, second = Extra(), t.nn.Sequential(Extra())
    first.count = 7
    state = t.nn.Sequential(first).state_dict()
    second.load_state_dict(state)
    seen = list(state), state["0._extra_state"], second[0].count
    del state["0._extra_state"]
    return seen, message(second.load_state_dict, state)


@twice
def test_state_dict_hooks(t: Any) -> Any:
    log: list[Any] = []
    m = small(t)

    def post(module: Any, state: Any, prefix: str, metadata: Any) -> None:
        log.append(("post", len(state), prefix, dict(metadata)))
        state["added"] = 1

    handles = [
        m.a.register_state_dict_pre_hook(
            lambda module, prefix, keep: log.append((type(module).__name__, prefix, keep))
        ),
        m.register_state_dict_post_hook(post),
    ]
    keys = list(m.state_dict())
    refused = raised(m._register_state_dict_hook, post, words=20)
    for handle in handles:
        handle.remove()
    with m.register_state_dict_post_hook(lambda *args: 3):
        returned = raised(m.state_dict, words=20)
    with m._register_state_dict_hook(lambda module, state, prefix, metadata: {"only": 1}):
        replaced = m.state_dict()
    return log, keys, refused, returned, replaced, list(m.state_dict())


@twice
def test_load_hooks(t: Any) -> Any:
    log: list[Any] = []
    m = small(t)

    def noting(name: str) -> Any:
        return lambda *args: log.append((name, [type(arg).__name__ for arg in args]))

    m._register_load_state_dict_pre_hook(noting("plain"))
    m._register_load_state_dict_pre_hook(noting("with module"), with_module=True)
    m.a.register_load_state_dict_pre_hook(noting("child"))
    m.register_load_state_dict_post_hook(lambda module, keys: log.append(repr(keys)))
    m.a.register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.clear())
    state = m.state_dict()
    del state["a.bias"]
    forgiven = repr(m.load_state_dict(state))
    m.register_load_state_dict_post_hook(lambda module, keys: keys)
    return log, forgiven, raised(m.load_state_dict, state, words=20)


@twice
def test_renaming_keys_before_loading(t: Any) -> Any:
    def rename(state: Any, prefix: str, *unused: Any) -> None:
        for key in list(state):
            if key.startswith(prefix + "old."):
                state[key.replace("old.", "a.")] = state.pop(key)

    m, source = small(t), small(t)
    m._register_load_state_dict_pre_hook(rename)
    state = {key.replace("a.", "old."): value for key, value in source.state_dict().items()}
    keys = list(state)
    result = repr(m.load_state_dict(state))
    return result, list(state) == keys, m.a.weight == source.a.weight


@twice
def test_overriding_the_protocol(t: Any) -> Any:
    log: list[Any] = []

    class Versioned(t.nn.Module):
        _version = 2

        def __init__(self) -> None:
            super().__init__()
            self.w = t.nn.Parameter(t.ones(2))

        def _load_from_state_dict(self, state: Any, prefix: str, metadata: Any, *rest: Any) -> None:
            log.append((dict(metadata), prefix, rest[0]))
            state.pop(prefix + "more", None)
            super()._load_from_state_dict(state, prefix, metadata, *rest)

        def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
            super()._save_to_state_dict(destination, prefix, keep_vars)
            destination[prefix + "more"] = t.ones(1)

    m = t.nn.Sequential(Versioned())
    state = m.state_dict()
    loaded = repr(m.load_state_dict(state))
    plain = repr(m.load_state_dict(dict(state)))
    m.load_state_dict(state, assign=True)
    return list(state), state._metadata["0"]["version"], loaded, plain, log


@twice
def test_prefixes_are_taken_off(t: Any) -> Any:
    state = t.nn.Sequential(t.nn.Linear(1, 1)).state_dict(prefix="module.")
    t.nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    return list(state), state._metadata
