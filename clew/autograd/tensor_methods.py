"""Tensor's methods and attributes that concern its history and gradient."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import FrameType
from typing import Any

from clew import errors
from clew.autograd.backward import backward as run_backward
from clew.autograd.backward import inside_transform
from clew.autograd.swapping import cdata, module_load
from clew.backend import dtypes
from clew.core.hooks import Hooks, RemovableHandle
from clew.core.meta.classes import made_like
from clew.core.meta.handlers import is_wrapper
from clew.core.no_history import NoHistory
from clew.core.node import AccumulateGrad, edge_of, live_edge, retain
from clew.core.public import methods, public
from clew.core.state import local
from clew.core.storage import INFERENCE, DataStorage, DetachedInferenceStorage, Storage
from clew.core.tensor import Tensor, alias, tangents_of
from clew.observer import active
from clew.ops.define import vmap_errors
from clew.source import INTERNAL_PACKAGES, LOOKS_FIRST, _getframe, user_stacklevel, user_where


def backward(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Add the gradients of this tensor's leaves into their `.grad`.

    Args:
        gradient: the gradient of this tensor, of its shape; None is 1, for a tensor of one element
        retain_graph: keep what the graph saved, for another backward; None is `create_graph`
        create_graph: record backward itself, so that gradients can be differentiated
        inputs: the tensors to compute gradients for; None is all leaves

    Example:
        >>> x = clew.tensor([1., 2.], requires_grad=True)
        >>> (x * x).sum().backward()
        >>> x.grad
        tensor([2., 4.])
    """
    run_backward(self, gradient, retain_graph, create_graph, inputs=inputs)


def requires_grad_(self: Tensor, requires_grad: bool = True) -> Tensor:
    """Ask for gradients of this leaf, or stop asking; returns the tensor.

    Args:
        requires_grad: whether autograd records what is done with it

    Example:
        >>> clew.zeros(2).requires_grad_()
        tensor([0., 0.], requires_grad=True)
    """
    if type(requires_grad) is not bool:
        raise TypeError(
            "requires_grad_(): argument 'requires_grad' (position 1) must be bool, not "
            f"{type(requires_grad).__name__}" + errors.at_user_line()
        )
    if inside_transform():
        raise vmap_errors.changed_flag("requires_grad_")
    return _with_flag(self, requires_grad)


def _may_require_grad(self: Tensor) -> bool:
    return self._layout.dtype.kind in "fc" or self.dtype.is_floating_point or self.dtype.is_complex


def _with_flag(self: Tensor, requires_grad: bool) -> Tensor:
    observer = active.observer
    if observer is not None and requires_grad:
        observer.requires_grad_set(self)
    if requires_grad and not _may_require_grad(self):
        raise RuntimeError(
            "only Tensors of floating point dtype can require gradients" + errors.at_user_line()
        )
    if self._node is not None and not self._node.is_accumulator:
        if requires_grad:
            return self
        raise errors.not_a_leaf(requires_grad)
    if requires_grad and self._storage.is_inference and not local.state.inference:
        raise errors.inference_requires_grad()
    if not requires_grad and self._requires_grad:
        self._reason = NoHistory("frozen", "requires_grad_(False)", user_where())
    elif requires_grad:
        self._reason = None
    set_flag(self, requires_grad)
    return self


def set_flag(self: Tensor, requires_grad: bool) -> None:
    """Change whether a leaf requires grad; views of it notice by the count of changes."""
    if self._view is not None and self._view.borrows:
        self._node, self._view.borrows = None, False
    self._requires_grad = requires_grad
    self._storage.changes += 1


def _set_requires_grad(self: Tensor, value: bool) -> None:
    if type(value) is not bool:
        raise RuntimeError("requires_grad must be a bool" + errors.at_user_line())
    if self._node is not None and not self._node.is_accumulator:
        raise errors.not_a_leaf(value)
    if value and not _may_require_grad(self):
        raise RuntimeError(
            "only Tensors of floating point and complex dtype can require gradients"
            + errors.at_user_line()
        )
    _with_flag(self, value)


@public(function=True, out=False)
def detach(self: Tensor) -> Tensor:
    """A tensor over the same memory without history: no gradient flows through it.

    Example:
        >>> x = clew.tensor([1., 2.], requires_grad=True)
        >>> (x * 2).detach()
        tensor([2., 4.])
    """
    if type(self) is not Tensor and is_wrapper(self):
        wrapper: Tensor = made_like("detach", self, (), {})
        return wrapper
    result = self.detached() if self._is_lifted else alias(self)
    if self._storage.is_inference:
        result._storage = _of_inference()
    if self.requires_grad:
        result._reason = NoHistory("detach", "detach()", user_where(), edge_of(self)[0])
    observer = active.observer
    if observer is not None:
        observer.alias_made(self, result)
    return result


@public(function=True, out=False)
def detach_(self: Tensor) -> Tensor:
    """Forget this tensor's history: it is a leaf from then on, without gradient.

    Example:
        >>> x = clew.tensor([1., 2.], requires_grad=True)
        >>> y = x * 2
        >>> y.detach_()
        tensor([2., 4.])
    """
    if local.state.inference:
        return self  # inference mode leaves histories alone
    if self._view is not None:
        raise RuntimeError(
            "Can't detach views in-place. Use detach() instead. If you are using "
            "DistributedDataParallel (DDP) for training, and gradient_as_bucket_view is set as "
            "True, gradients are views of DDP buckets, and hence detach_() cannot be called on "
            "these gradients." + errors.at_user_line()
        )
    if self.requires_grad:
        self._reason = NoHistory("detach", "detach_()", user_where(), edge_of(self)[0])
    if self._node is not None and not self._node.is_accumulator:
        self._storage.detach(self._node._seq, self._output_nr)
        self._node, self._output_nr = None, 0
    if tangents_of(self):
        self._tangent = None
    if self._is_lifted:
        self.detach_examples()
    set_flag(self, False)
    return self


def _of_inference() -> Storage:
    """The storage of an inference tensor without its view: outside of the mode it counts writes."""
    return INFERENCE if local.state.inference else DetachedInferenceStorage()


def _get_data(self: Tensor) -> Tensor:
    """A tensor over the same memory without history; writes to it are not noticed by autograd.

    `detach()` gives the same, and backward raises when a write has made it wrong.

    Example:
        >>> x = clew.tensor([1., 2.], requires_grad=True)
        >>> x.data
        tensor([1., 2.])
    """
    if self._is_lifted:
        raise vmap_errors.data("accessing `data` under vmap transform is not allowed")
    if is_wrapper(self):
        return self.detach()
    result = alias(self)
    is_inference = self._storage.is_inference
    result._storage = _of_inference() if is_inference else DataStorage(self._storage)
    if self.requires_grad:
        result._reason = NoHistory("detach", ".data", user_where(), edge_of(self)[0])
    observer = active.observer
    if observer is not None:
        observer.alias_made(self, result)
    return result


def _set_data(self: Tensor, value: Tensor) -> None:
    if self._is_lifted:
        raise vmap_errors.data(
            "mutating directly with `.data` under vmap transform is not allowed."
        )
    if inside_transform() and self.requires_grad:
        raise vmap_errors.data(
            "mutating directly with `.data` inside functorch transform is not allowed."
        )
    observer = active.observer
    if observer is not None:
        observer.data_set(self, value)
    if not isinstance(value, Tensor):
        raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
    if self.requires_grad and not (value.dtype.is_floating_point or value.dtype.is_complex):
        raise RuntimeError(
            "data set to a tensor that requires gradients must be floating point or complex dtype"
            + errors.at_user_line()
        )
    # The version counter stays with the tensor, as in PyTorch.
    self._array = value._array
    if isinstance(self._node, AccumulateGrad):
        self._node = self._node.for_data_of(self)


def _get_grad(self: Tensor) -> Tensor | None:
    """The gradient that backward has added up for this leaf; None before the first.

    Other tensors have one after `retain_grad()`. `optimizer.zero_grad()` sets it back to None.

    Example:
        >>> x = clew.tensor(3., requires_grad=True)
        >>> (x * x).backward()
        >>> x.grad
        tensor(6.)
    """
    observer = active.observer
    if observer is not None and _is_asked_by_program(_getframe(1)):
        observer.grad_read(self, self._grad)
    node = self._node
    if (
        self._grad is None
        and node is not None
        and not node.is_accumulator
        and self._requires_grad
        and not self.retains_grad
    ):
        made_at = errors.describe(node._where)
        warnings.warn(
            "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its "
            ".grad attribute won't be populated during autograd.backward(). If you indeed want the "
            ".grad field to be populated for a non-leaf Tensor, use .retain_grad() on the non-leaf "
            "Tensor. If you access the non-leaf Tensor by mistake, make sure you access the leaf "
            f"Tensor instead.\n  It became a non-leaf at {made_at}",
            stacklevel=user_stacklevel(),
        )
    return self._grad


def _is_asked_by_program(frame: FrameType) -> bool:
    """Whether a frame is the program's: what the library does is told as a whole, elsewhere."""
    asking: FrameType | None = frame
    while asking is not None and (
        asking.f_code.co_filename == LOOKS_FIRST
        or asking.f_globals.get("__name__") == "clew.core.overrides"
    ):
        asking = asking.f_back
    return asking is None or asking.f_globals.get("__package__") not in INTERNAL_PACKAGES


def _set_grad(self: Tensor, value: Tensor | None) -> None:
    observer = active.observer
    if observer is not None and _is_asked_by_program(_getframe(1)):
        observer.grad_set(self, value)
    if value is None:
        self._grad = None
        return
    if not isinstance(value, Tensor):
        raise TypeError(
            f"assigned grad expected to be a Tensor or None but got grad of type "
            f"{type(value).__name__}"
        )
    if value is self:
        raise RuntimeError("can't assign Variable as its own grad")
    if value._layout.shape != self._layout.shape:
        raise RuntimeError(
            "attempting to assign a gradient of size "
            f"'{errors.shape_list(value._layout.shape)}' to a tensor of size "
            f"'{errors.shape_list(self._layout.shape)}'. Please ensure that the gradient and the "
            "tensor are the same size" + errors.at_user_line()
        )
    wanted = _grad_dtype_of(self)
    if wanted is not None and value.dtype is not wanted:
        raise RuntimeError(
            f"attempting to assign a gradient with dtype '{value.dtype.c_name}' to a tensor "
            f"with grad_dtype '{wanted.scalar_name}'. The gradient must match the tensor's "
            "dtype." + errors.at_user_line()
        )
    self._grad = value


def _del_grad(self: Tensor) -> None:
    self._grad = None


def _grad_dtype_of(self: Tensor) -> dtypes.dtype | None:
    """The dtype that a tensor's gradient has; None if it may be any."""
    node = self._node
    if not isinstance(node, AccumulateGrad) or not node.has_grad_dtype:
        return self.dtype
    return None if node._dtype is None else dtypes.BY_NUMPY[node._dtype]


def _get_grad_dtype(self: Tensor) -> dtypes.dtype | None:
    """The dtype that the gradient of a leaf is converted to; None if it stays as it comes.

    Example:
        >>> x = clew.ones(2, requires_grad=True)
        >>> x.grad_dtype = clew.float16
        >>> (x * 2).sum().backward()
        >>> x.grad
        tensor([2., 2.], dtype=torch.float16)
    """
    if not self.is_leaf:
        raise RuntimeError("grad_dtype can only be accessed on leaf tensors.")
    return _grad_dtype_of(self)


def _set_grad_dtype(self: Tensor, value: dtypes.dtype | None) -> None:
    if not self.is_leaf:
        raise RuntimeError("grad_dtype can only be set on leaf tensors." + errors.at_user_line())
    if value is not None and self._grad is not None and self._grad.dtype is not value:
        raise RuntimeError(
            f"Cannot set grad_dtype to '{value.scalar_name}' because there is already a gradient "
            f"with dtype '{self._grad.dtype.scalar_name}'. Please clear the gradient (.grad = "
            "None) before changing grad_dtype, or ensure the new grad_dtype matches the existing "
            "gradient's dtype." + errors.at_user_line()
        )
    node = self._node
    if not isinstance(node, AccumulateGrad):
        node = self._node = AccumulateGrad(self)
    node._dtype = None if value is None else value.np  # type: ignore[assignment]  # any dtype
    node.has_grad_dtype = True


def _refuse_deletion(text: str) -> Callable[[Tensor], None]:
    def delete(self: Tensor) -> None:
        raise RuntimeError(text + errors.at_user_line())

    return delete


def retain_grad(self: Tensor) -> None:
    """Keep the gradient of a tensor that is no leaf in its `.grad`, too.

    Example:
        >>> x = clew.tensor(3., requires_grad=True)
        >>> y = x * x
        >>> y.retain_grad()
        >>> (2 * y).backward()
        >>> y.grad
        tensor(2.)
    """
    view = self._view
    is_leaf = view is not None and view.kind is not None and self._node is None
    if _retains_grad(self) or (is_leaf and self.requires_grad):
        # Also where the view has lost its history since.
        return
    if live_edge(self) is None:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    if inside_transform():
        raise vmap_errors.changed_flag("retain_grad")
    retain(self)


def _retains_grad(self: Tensor) -> bool:
    """Whether backward will keep the gradient of this tensor, which is no leaf, in its `.grad`.

    Example:
        >>> y = clew.tensor(3., requires_grad=True) * 2
        >>> y.retain_grad()
        >>> y.retains_grad
        True
    """
    node = self._node
    if node is None or node.is_accumulator or node._extras is None:
        return False
    reference = node._extras.retained.get(self._output_nr)
    return reference is not None and reference() is self


def register_hook(self: Tensor, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
    """Call `hook(grad)` when this tensor's gradient is known; it may return another.

    Args:
        hook: a function of the gradient; what it returns, unless None, takes its place

    Example:
        >>> x = clew.tensor(3., requires_grad=True)
        >>> handle = x.register_hook(lambda grad: grad * 10)
        >>> (x * x).backward()
        >>> x.grad
        tensor(60.)
        >>> handle.remove()
    """
    edge = live_edge(self)
    if edge is None:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    node, number = edge
    return node.more().tensor_hooks.setdefault(number, Hooks()).add(hook)


def register_post_accumulate_grad_hook(
    self: Tensor, hook: Callable[[Tensor], None]
) -> RemovableHandle:
    """Call `hook(tensor)` after a gradient was added into this leaf's `.grad`.

    Args:
        hook: a function of the tensor, whose `.grad` it may read or change

    Example:
        >>> x = clew.tensor(3., requires_grad=True)
        >>> handle = x.register_post_accumulate_grad_hook(lambda leaf: print(leaf.grad))
        >>> (x * x).backward()
        tensor(6.)
    """
    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    node = edge_of(self)[0]
    if not isinstance(node, AccumulateGrad):
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    return node.post_accumulate_hooks.add(hook)


def _get_backward_hooks(self: Tensor) -> Hooks | None:
    extras = None if self._node is None else self._node._extras
    found = None if extras is None else extras.tensor_hooks.get(self._output_nr)
    return vars(self).get("_backward_hooks") if found is None else found


def _set_backward_hooks(self: Tensor, hooks: Any) -> None:
    edge = live_edge(self)
    if edge is None or not isinstance(hooks, dict):
        # Kept for whoever asks: no gradient comes here, or these are no hooks.
        vars(self)["_backward_hooks"] = hooks
    else:
        edge[0].more().tensor_hooks[edge[1]] = Hooks(hooks)


def _volatile(self: Tensor) -> bool:
    warnings.warn(
        "volatile was removed (Variable.volatile is always False)", stacklevel=user_stacklevel()
    )
    return False


def _dir(self: Tensor) -> list[str]:
    # A slot that is only filled in forward mode, and what only warns.
    return sorted({*object.__dir__(self)} - {"_tangent", "volatile"})


def _is_view(self: Tensor) -> bool:
    return self._view is not None


methods(
    _is_view=_is_view,
    backward=backward,
    module_load=module_load,
    _cdata=property(cdata),
    requires_grad_=requires_grad_,
    retain_grad=retain_grad,
    register_hook=register_hook,
    register_post_accumulate_grad_hook=register_post_accumulate_grad_hook,
    _set_requires_grad=_set_requires_grad,
    data=property(
        _get_data,
        _set_data,
        _refuse_deletion("Deleting tensor data is not allowed. Delete tensor instead!"),
    ),
    grad_dtype=property(_get_grad_dtype, _set_grad_dtype),
    _grad_fn=property(
        lambda self: self.grad_fn,
        None,
        _refuse_deletion("Deletion of _grad_fn not allowed. Detach tensor instead!"),
    ),
    _backward_hooks=property(
        _get_backward_hooks,
        _set_backward_hooks,
        _refuse_deletion("Deletion of _backwards_hooks not allowed!"),
    ),
    volatile=property(_volatile),
    __dir__=_dir,
    grad=property(_get_grad, _set_grad, _del_grad),
    retains_grad=property(_retains_grad),
)
