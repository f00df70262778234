"""Selective checkpointing: a policy says which operations of a block keep their results.

In the first run an interceptor keeps the results that the policy wants kept; in the second one
another gives them back instead of computing them again, with a history as if they had been.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

import numpy as np

from clew import errors
from clew.core.inplace import apply_inplace
from clew.core.interception import Interceptor, install, installed, remove, resume
from clew.core.op import Op
from clew.core.state import local
from clew.core.tensor import Tensor, tangents_of, wrap
from clew.interrupts import uninterrupted
from clew.ops.aten import name_of, packet
from clew.ops.namespaces import OpOverload, OpOverloadPacket
from clew.utils.checkpoint_frames import Watch

# A policy is not asked about these: they compute nothing.
SAC_IGNORED_OPS = frozenset({packet("detach").default})


class CheckpointPolicy(enum.Enum):
    """What a policy may say of an operation. (clew follows PREFER_ as it follows MUST_.)

    Example:
        >>> from clew.utils.checkpoint import CheckpointPolicy
        >>> CheckpointPolicy.MUST_SAVE.value
        0
    """

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


# All memory is the CPU's.
_KEEPS = frozenset(
    {
        True,
        CheckpointPolicy.MUST_SAVE,
        CheckpointPolicy.PREFER_SAVE,
        CheckpointPolicy.MUST_CPU_OFFLOAD,
        CheckpointPolicy.PREFER_CPU_OFFLOAD,
    }
)


class SelectiveCheckpointContext:
    """What a policy is told besides the operation and its arguments.

    Args:
        is_recompute: whether this is the second run
        op_output: what the operation returned, in the first run

    Example:
        >>> from clew.utils.checkpoint import SelectiveCheckpointContext
        >>> SelectiveCheckpointContext(is_recompute=False).is_recompute
        False
    """

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute = is_recompute
        self.op_output = op_output


class _Kept:
    """The results of one call of an operation."""

    def __init__(self, outs: tuple[Tensor, ...], has_many: bool, may_change: bool) -> None:
        self.arrays = [out._array for out in outs]
        self.versions = [(out._storage, out._storage.version) for out in outs]
        self.has_many = has_many
        self.may_change = may_change

    def take(self) -> list[np.ndarray]:
        """The arrays, once: backward may then free them."""
        if not self.arrays:
            raise RuntimeError(
                "Trying to backward an extra time. You are only allowed to backward once on any "
                "region computed under selective activation checkpoint." + errors.at_user_line()
            )
        for storage, version in self.versions:
            if storage.version != version and not self.may_change:
                raise RuntimeError(
                    "Tensor cached during selective activation checkpoint has been mutated\n"
                    f"  It was overwritten by `{storage.writer or 'a write'}` at "
                    f"{errors.describe(storage.written_at)}. Pass allow_cache_entry_mutation=True "
                    "if what was written is what backward should see."
                )
        arrays, self.arrays, self.versions = self.arrays, [], []
        return arrays


# For each operation its calls in order: what was kept, or None where it is computed again.
_Storage = dict[OpOverload, list[_Kept | None]]
Policy = Callable[..., Any]


class _Selecting(Interceptor):
    """An interceptor that is a context."""

    def __enter__(self) -> _Selecting:
        install(self)
        return self

    @uninterrupted
    def __exit__(self, *exc: object) -> None:
        remove(self)

    def __call__(
        self, op: Any, inputs: tuple[Any, ...], params: dict[str, Any], inplace: bool = False
    ) -> Any:
        if not isinstance(op, Op):
            return params["outputs"] if self.outer is None else self.outer(op, inputs, params)
        state = local.state
        state.intercept = self.outer
        try:
            if inplace or name_of(op) in SAC_IGNORED_OPS:
                run = apply_inplace if inplace else Op.__call__
                return run(op, *inputs, **params)
            return self.select(op, inputs, params)
        finally:
            resume(state, self)

    def select(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        raise NotImplementedError


class _Keeping(_Selecting):
    """The first run: results that the policy wants kept are."""

    def __init__(self, policy: Policy, storage: _Storage, may_change: bool) -> None:
        self.policy, self.storage, self.may_change = policy, storage, may_change

    def select(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        result = op(*inputs, **params)
        context = SelectiveCheckpointContext(is_recompute=False, op_output=result)
        name = name_of(op)
        keeps = self.policy(context, name, *inputs, **params) in _KEEPS
        has_many = isinstance(result, tuple | list)
        outs = tuple(result) if has_many else (result,)
        # Views are made again from what they are views of; vmap and forward mode have more to do.
        can_keep = not op.is_view and not any(out._is_lifted or tangents_of(out) for out in outs)
        kept = _Kept(outs, has_many, self.may_change) if keeps and can_keep else None
        self.storage.setdefault(name, []).append(kept)
        return result


class _GivingBack(_Selecting):
    """The second run: what was kept is not computed."""

    def __init__(self, storage: _Storage) -> None:
        self.storage = storage
        self.counts: dict[OpOverload, int] = {}

    def __enter__(self) -> _Selecting:
        self.counts = {}
        return super().__enter__()

    def select(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        name = name_of(op)
        index = self.counts[name] = self.counts.get(name, -1) + 1
        calls = self.storage.get(name)
        if calls is None or index >= len(calls):
            which = name if calls is None else f"{name} invocation index {index}"
            raise RuntimeError(
                f"{which} encountered during backward but not found in storage. This can happen if "
                "the operations in the checkpointed region are nondeterministic or depend on "
                "global state that changed between forward and backward." + errors.at_user_line()
            )
        kept = calls[index]
        if kept is None:
            return op(*inputs, **params)
        arrays, state = kept.take(), local.state
        watch = installed(Watch)
        if watch is not None:
            watch.op = op.name
        if kept.has_many:
            return op.finish_many(state, inputs, params, tuple(wrap(each) for each in arrays))
        return op.output(state, inputs, params, arrays[0])


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Policy | list[OpOverload], allow_cache_entry_mutation: bool = False
) -> tuple[_Selecting, _Selecting]:
    """The contexts for `checkpoint(context_fn=...)` under a policy, or a list of ops to keep.

    Args:
        policy_fn_or_list: a function of a SelectiveCheckpointContext, an operation and its
            arguments that gives a CheckpointPolicy; or the operations whose results are kept
        allow_cache_entry_mutation: whether what is kept may be written to before backward

    Example:
        >>> import functools
        >>> from clew.utils import checkpoint as blocks
        >>> keep_products = functools.partial(
        ...     blocks.create_selective_checkpoint_contexts, [clew.ops.aten.mm.default])
        >>> x = clew.ones(2, 2, requires_grad=True)
        >>> out = blocks.checkpoint(
        ...     lambda x: (x @ x).tanh(), x, use_reentrant=False, context_fn=keep_products)
        >>> out.sum().backward()
        >>> x.grad.shape
        torch.Size([2, 2])
    """
    if isinstance(policy_fn_or_list, list):
        ops = frozenset(map(_checked, policy_fn_or_list))

        def policy(context: SelectiveCheckpointContext, op: OpOverload, *a: Any, **k: Any) -> Any:
            keeps = op in ops
            return CheckpointPolicy.MUST_SAVE if keeps else CheckpointPolicy.PREFER_RECOMPUTE

    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise TypeError(
            "policy_fn_or_list must be either a function or a list of ops." + errors.at_user_line()
        )
    storage: _Storage = {}
    return _Keeping(policy, storage, allow_cache_entry_mutation), _GivingBack(storage)


def _checked(op: Any) -> OpOverload:
    if isinstance(op, OpOverload):
        return op
    fix = ""
    if isinstance(op, OpOverloadPacket):
        fix = (
            "Please update the OpOverloadPacket to a specific OpOverload.For example, if you have "
            "`torch.ops.aten.mm`, change it to `torch.ops.aten.mm.default`."
        )
    raise ValueError(
        f"Expected op in `op_list` to be an OpOverload but got: {op} of type {type(op)}. {fix}"
        + errors.at_user_line()
    )
