"""Operations that programs define: what users reach as `torch.library`.

An operation has a name in `torch.ops`, a schema, kernels, and rules for its gradient and for vmap.
"""

from __future__ import annotations

from clew.aliasing import explain_missing
from clew.library.custom_ops import (
    CustomOpDef,
    custom_op,
    get_kernel,
    impl_abstract,
    register_autocast,
    register_autograd,
    register_fake,
    register_kernel,
    register_vmap,
    triton_op,
    wrap_triton,
)
from clew.library.definitions import Library, define, impl
from clew.library.opcheck import OpCheckError, opcheck
from clew.library.schema import infer_schema

__all__ = [
    "CustomOpDef", "Library", "OpCheckError", "custom_op", "define", "fallthrough_kernel",
    "get_ctx", "get_kernel", "impl", "impl_abstract", "infer_schema", "opcheck",
    "register_autocast", "register_autograd", "register_fake", "register_kernel", "register_vmap",
    "triton_op", "wrap_triton",
]  # fmt: skip


def fallthrough_kernel() -> None:
    """Marks a dispatch key as one that another kernel answers for: it is never called."""
    raise NotImplementedError("fallthrough_kernel() should never be called.")


class FakeImplCtx:
    """What a fake kernel may ask for: a size that depends on data."""

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> int:
        """Some size: the least one, since nothing is known."""
        return min

    create_unbacked_symint = new_dynamic_size


def get_ctx() -> FakeImplCtx:
    """What a fake kernel may ask for.

    Example:
        >>> clew.library.get_ctx().new_dynamic_size()
        0
    """
    return FakeImplCtx()


explain_missing(__name__)
