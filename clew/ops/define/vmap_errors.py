"""What cannot be done with a batched tensor: PyTorch's words, the user's line, and the way out."""

from __future__ import annotations

from typing import Any

from clew import errors


def item() -> RuntimeError:
    return RuntimeError(
        "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over "
        "calling .item() on a Tensor, please try to rewrite what you're doing with other "
        "operations.\n  A batched tensor has one value for each example, so there is no single "
        "number: keep it a tensor, or return it and call .item() outside of vmap."
        + errors.at_user_line()
    )


def control_flow() -> RuntimeError:
    return RuntimeError(
        "vmap: It looks like you're attempting to use a Tensor in some data-dependent control "
        "flow. We don't support that yet.\n  The condition may be true for one example and false "
        "for another: compute both sides and choose with torch.where(condition, a, b)."
        + errors.at_user_line()
    )


def values(what: str) -> RuntimeError:
    return RuntimeError(
        f"vmap: {what} asks for the values of a batched tensor, of which there is one for each "
        "example.\n  Use operations on tensors instead, or return the tensor from the function "
        "and look at it outside of vmap." + errors.at_user_line()
    )


def backward() -> RuntimeError:
    return RuntimeError(
        "backward() called inside a functorch transform. This is not supported, please use "
        "functorch.grad or functorch.vjp instead or call backward() outside of functorch "
        "transforms.\n  Gradients inside of vmap: torch.func.grad(loss)(x)" + errors.at_user_line()
    )


def changed_flag(method: str) -> RuntimeError:
    too = (
        " (or perhaps using torch.autograd.functional.* APIs)" if method == "requires_grad_" else ""
    )
    return RuntimeError(
        f"You are attempting to call Tensor.{method}(){too} inside of a function being transformed "
        "by a functorch transform. This is unsupported, please attempt to use the functorch "
        f"transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call {method}() outside of a "
        "function being transformed instead.\n  What a transform differentiates by are the "
        "arguments that it was given." + errors.at_user_line()
    )


def data(refusal: str) -> RuntimeError:
    return RuntimeError(
        f"{refusal}\n  The memory is that of all examples: use x.detach(), or x.clone()."
        + errors.at_user_line()
    )


def escaped(what: str) -> RuntimeError:
    return RuntimeError(
        "Either your tensor may have escaped from inside a function being vmapped and this is a "
        f"user error: `{what}` got a tensor that belongs to a vmap that has ended.\n  Return it "
        "from the function that vmap calls: what comes back then has the dimension of the examples."
        + errors.at_user_line()
    )


def dynamic_shape(name: str) -> RuntimeError:
    return RuntimeError(
        "vmap: We do not support batching operators that can output dynamic shape. Attempted to "
        f"vmap over aten::{name}.\n  The number of results may differ between examples: use "
        "torch.where with a value for what is left out." + errors.at_user_line()
    )


def boolean_mask() -> RuntimeError:
    return RuntimeError(
        "vmap: We do not support batching operators that can support dynamic shape. Attempting to "
        "batch over indexing with a boolean mask.\n  Use torch.where(mask, x, 0), or masked_fill, "
        "which keep the shape." + errors.at_user_line()
    )


def no_rule(name: str, why: str = "") -> RuntimeError:
    return RuntimeError(
        f"vmap: there is no batching rule for `{name}`"
        + (f": {why}" if why else ".")
        + "\n  Write the function in other operations, or loop over the examples outside of vmap."
        + errors.at_user_line()
    )


def no_fallback(name: str, refusal: str = "") -> RuntimeError:
    rule = f"Batching rule not implemented for aten::{name}. We could not generate a fallback."
    return RuntimeError(
        f"{refusal or rule}\n  torch.{name} gives one value, and there would be one for each "
        "example: write it in operations on tensors." + errors.at_user_line()
    )


def clone_format(wanted: Any) -> RuntimeError:
    return RuntimeError(
        "NYI: Tensor.clone(memory_format) inside vmap is only supported with memory_format "
        f"torch.preserve_format or torch.contiguous_format (got {wanted})" + errors.at_user_line()
    )


def asked_format() -> RuntimeError:
    return RuntimeError(
        "NYI: querying is_contiguous inside of vmap for memory_format other than "
        "torch.contiguous_format" + errors.at_user_line()
    )


def class_count() -> RuntimeError:
    return RuntimeError(
        "When vmap-ing torch.nn.functional.one_hot, please provide an explicit positive "
        "num_classes argument.\n  Counted from the values, it could differ between examples."
        + errors.at_user_line()
    )


def outside_of_example(part: Any, whole: Any) -> RuntimeError:
    shape, strides = errors.shape_list(part.shape), errors.shape_list(part.strides)
    return RuntimeError(
        f"result = tensor.as_strided({shape}, {strides}, {part.offset}) can access memory outside "
        f"of `tensor`. `result` can access some memory in range [{part.offset}, {part.last() + 1}],"
        f" but `tensor` can only access some memory in range [{whole.offset}, {whole.last() + 1}]. "
        "This is not supported inside of vmap, please try to rewrite the `as_strided` call as a "
        "sequence of PyTorch view operations" + errors.at_user_line()
    )


# Writes that PyTorch's message names as they are, and those that it calls arithmetic.
_NAMED = frozenset({
    "fill", "index_add", "index_fill", "index_put", "scatter_add", "scatter_reduce",
})  # fmt: skip
_ARITHMETIC = frozenset({"add", "copy", "div", "masked_fill", "mul", "sub"})


def captured_write(op: Any) -> RuntimeError:
    """`op`: an operation, or the name of one."""
    name = (op if isinstance(op, str) else op.name).rstrip("_").removesuffix("_tensor")
    if name == "_running_average":
        return RuntimeError(
            "Batch norm got a batched tensor as input while the running_mean or running_var, which "
            "will be updated in place, were not batched.\n  Each example would need statistics of "
            "its own: `clew.func.replace_all_batch_norm_modules_` makes modules go without them."
            + errors.at_user_line()
        )
    if name in _ARITHMETIC or name.startswith("_"):
        what = "inplace arithmetic"
    elif name == "bernoulli":
        what = "inplace bernoulli"
    else:
        what = f"{name}_" if name in _NAMED else f"aten::{name}_"
    return RuntimeError(
        f"vmap: {what}(self, *extra_args) is not possible because there exists a Tensor `other` in "
        "extra_args that has more elements than `self`. This happened due to `other` being vmapped "
        "over but `self` not being vmapped over in a vmap. Please try to use out-of-place "
        f"operators instead of {what}.\n  `{name}_` would have to store a value for each example "
        f"in a tensor that all of them share: use `{name}`, or make the tensor from one that is "
        "batched (`x.new_zeros(...)`, `torch.zeros_like(x)`)." + errors.at_user_line()
    )


def out_variant(name: str) -> RuntimeError:
    return RuntimeError(
        f"Batching rule not implemented for aten::{name}.out; the fallback path doesn't work on "
        f"out= or view ops.\n  Use what torch.{name} returns instead of out=."
        + errors.at_user_line()
    )


def random_out() -> RuntimeError:
    return RuntimeError(
        "vmap: We do not support calling out variants of random operations inside of vmap. Please "
        "use non-out variants as a workaround" + errors.at_user_line()
    )


def randomness() -> RuntimeError:
    return RuntimeError(
        "vmap: called random operation while in randomness error mode. Please either use the "
        "'same' or 'different' randomness flags on vmap or perform the randomness operation out "
        "of vmap" + errors.at_user_line()
    )


def no_randomness() -> RuntimeError:
    return RuntimeError(
        "vmap: We do not yet support calling random operations inside of vmap. Please perform "
        "random operations outside of vmap as a workaround" + errors.at_user_line()
    )


def same_numbers(name: str) -> RuntimeError:
    return RuntimeError(
        "Vmap does not currently support same randomness with a batched tensor input.\n"
        f"  `{name}` needs parameters that all examples share. Draw from a fixed distribution "
        "(torch.rand) and transform the numbers, or use randomness='different'."
        + errors.at_user_line()
    )


def different_numbers(name: str) -> RuntimeError:
    return RuntimeError(
        "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will "
        f"appear like same randomness.\n  `{name}_` fills a tensor that all examples share: make "
        "it from a batched one (`torch.empty_like(x)`), or use the out-of-place form."
        + errors.at_user_line()
    )


def function_without_context(function: Any) -> RuntimeError:
    return RuntimeError(
        "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, "
        "...), it must override the setup_context staticmethod.\n"
        f"  {function.__name__} has a forward that takes ctx: split it into forward(*inputs) and "
        "setup_context(ctx, inputs, output)." + errors.at_user_line()
    )


def function_without_vmap(function: Any) -> RuntimeError:
    return RuntimeError(
        f"You tried to vmap over {function.__name__}, but it does not have vmap support. Please "
        "override and implement the vmap staticmethod or set generate_vmap_rule=True."
        + errors.at_user_line()
    )
