"""Products of matrices: one rule for all of them, by the letters that `einsum` has for dimensions.

A dimension that both operands have and that is summed over may be cut in both: each rank then has
a term of the result. Any other may be cut in one operand, and is in the result.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

from clew.core.tensor import Tensor
from clew.distributed.tensor.dtensor import SPECIAL, DTensor, wrapped
from clew.distributed.tensor.layouts import (
    gathered_result,
    local_in,
    mesh_of,
    tensors_in,
    without_terms,
)
from clew.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard

_BATCH = string.ascii_uppercase


def contracted(
    func: Any, operands: Sequence[DTensor], letters: Sequence[str], result: str, *rest: Any,
    shape: tuple[int, ...] | None = None, **options: Any,
) -> Any:  # fmt: skip
    """Compute a product of which the dimensions have letters.

    The shape is needed where the result has lengths that no operand has.
    """
    mesh = mesh_of(func.__name__, operands)
    sizes = {c: n for x, word in zip(operands, letters) for c, n in zip(word, x._whole) if n != 1}
    layouts: list[list[Placement]] = [[] for _ in operands]
    terms: list[list[int]] = [[] for _ in operands]
    wanted: list[Placement] = []
    for dim in range(mesh.ndim):
        term = _only_partial(operands, dim)
        if term is not None:
            # A sum of terms times what all ranks have is the sum of their products.
            for place, x in enumerate(operands):
                layouts[place].append(x._placements[dim] if place == term else Replicate())
                if place != term:
                    terms[place].append(dim)
            wanted.append(operands[term]._placements[dim])
            continue
        letter = _letter(operands, letters, dim, sizes, result)
        for place, (x, word) in enumerate(zip(operands, letters)):
            at = word.find(letter) if letter else -1
            if at >= 0 and x._whole[at] == sizes.get(letter, 1):
                layouts[place].append(Shard(at))
            else:
                layouts[place].append(Replicate())
                if letter:
                    terms[place].append(dim)
        if not letter:
            wanted.append(Replicate())
        else:
            wanted.append(Shard(result.index(letter)) if letter in result else Partial())
    parts = [local_in(x, own, mine) for x, own, mine in zip(operands, layouts, terms)]
    part = func(*rest, *parts, **options)
    return wrapped(part, mesh, wanted, shape or tuple(sizes.get(c, 1) for c in result))


def _only_partial(operands: Sequence[DTensor], dim: int) -> int | None:
    """The operand of which ranks have terms, if the others are whole."""
    found = [p for p, x in enumerate(operands) if isinstance(x._placements[dim], Partial)]
    others = [x._placements[dim] for p, x in enumerate(operands) if p not in found]
    is_alone = len(found) == 1 and all(isinstance(p, Replicate) for p in others)
    return found[0] if is_alone else None


def _letter(
    operands: Sequence[DTensor], letters: Sequence[str], dim: int, sizes: dict[str, int],
    result: str,
) -> str:  # fmt: skip
    """The dimension that is cut along one of the mesh: that of the largest operand that is."""
    chosen, largest = "", -1
    for x, word in zip(operands, letters):
        placement = x._placements[dim]
        if isinstance(placement, Shard) and x.numel() > largest:
            letter = word[placement.dim]
            if letter in sizes and x._whole[placement.dim] == sizes[letter]:
                chosen, largest = letter, x.numel()
    return chosen


def _words(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[str, str, str]:
    """The letters of `matmul`: batches are aligned from the right."""
    batch = max(len(a), len(b)) - 2
    rows, columns = ("" if len(a) == 1 else "m"), ("" if len(b) == 1 else "n")
    names = _BATCH[: max(0, batch)]
    one = names[len(names) - (len(a) - 2) :] if len(a) > 2 else ""
    other = names[len(names) - (len(b) - 2) :] if len(b) > 2 else ""
    longest = one if len(one) >= len(other) else other
    k = "k"
    return one + rows + k, other + (k + columns), longest + rows + columns


def multiplied(func: Any, a: Any, b: Any, **options: Any) -> Any:
    """`matmul` and its kin of two operands."""
    tensors = tensors_in([a, b])
    if len(tensors) < 2:
        return SPECIAL["add"](func, a, b, **options)  # which says that one is not in parts
    if func.__name__ == "__rmatmul__":
        return b.__matmul__(a)
    one, other, result = _words(a._whole, b._whole)
    return contracted(func, (a, b), (one, other), result, **options)


def linear(func: Any, input: Any, weight: Any, bias: Any = None) -> Any:
    """`F.linear`: the bias is added after the product, of which ranks may have terms."""
    if len(tensors_in([input, weight])) < 2:
        return SPECIAL["add"](func, input, weight)
    batch = _BATCH[: len(input._whole) - 1]
    product = contracted(func, (input, weight), (f"{batch}k", "nk"), f"{batch}n")
    return product if bias is None else product + bias


def added(func: Any, input: Any, a: Any, b: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """`addmm` and its kin."""
    product = a @ b
    scaled = product if alpha == 1 else product * alpha
    return scaled + (input if beta == 1 else input * beta)


def einsum(func: Any, equation: Any, *operands: Any) -> Any:
    """`einsum`, of an equation without dots."""
    is_list = len(operands) == 1 and isinstance(operands[0], list | tuple)
    given = list(operands[0]) if is_list else list(operands)
    words, arrow, result = str(equation).replace(" ", "").partition("->")
    letters = words.split(",")
    if "." in words or not arrow or any(len(set(word)) != len(word) for word in letters):
        return gathered_result(func, (equation, *given), {})
    if len(tensors_in(given)) != len(given):
        return SPECIAL["add"](func, *given)
    return contracted(func, given, letters, result, equation)


SPECIAL.update(dict.fromkeys(["matmul", "rmatmul", "mm", "bmm", "mv", "dot"], multiplied))
SPECIAL.update(dict.fromkeys(["addmm", "addmv", "baddbmm"], added))
SPECIAL.update(linear=linear, einsum=einsum)

# -- tables, attention -----------------------------------------------------------------------------


def embedding(func: Any, input: Any, weight: Any, *rest: Any, **options: Any) -> Any:
    """Rows of a table: its columns may be cut, or the indices; rows are gathered."""
    if len(tensors_in([input, weight])) < 2:
        return SPECIAL["add"](func, input, weight)
    mesh = mesh_of("embedding", (input, weight))
    input = without_terms(input)
    own: list[Placement] = []
    wanted: list[Placement] = []
    terms, rows = [], []
    for dim, (of_input, of_weight) in enumerate(zip(input._placements, weight._placements)):
        if isinstance(of_input, Shard):
            terms.append(dim)
        is_column = of_weight == Shard(1) and not isinstance(of_input, Shard)
        own.append(of_weight if is_column else Replicate())
        rows.append(of_input)
        wanted.append(Shard(len(input._whole)) if is_column else of_input)
    part = func(local_in(input, rows), local_in(weight, own, terms), *rest, **options)
    return wrapped(part, mesh, wanted, (*input._whole, weight._whole[1]))


def attention(func: Any, query: Any, key: Any, value: Any, *rest: Any, **options: Any) -> Any:
    """Attention: batches and heads may be cut, the same in all operands."""
    given = (query, key, value)
    extra = [*rest, *options.values()]
    if len(tensors_in(given)) < 3 or tensors_in(extra) or any(isinstance(e, Tensor) for e in extra):
        return gathered_result(func, (*given, *rest), options)
    mesh = mesh_of(func.__name__, given)
    heads = range(len(query._whole) - 2)
    wanted: list[Placement] = []
    for placement in query._placements:
        is_kept = isinstance(placement, Shard) and placement.dim in heads
        is_kept = is_kept and all(
            x._whole[placement.dim] == query._whole[placement.dim] for x in given
        )
        wanted.append(placement if is_kept else Replicate())
    parts = [local_in(x, wanted) for x in given]
    shape = (*query._whole[:-1], value._whole[-1])
    return wrapped(func(*parts, *rest, **options), mesh, wanted, shape)


SPECIAL.update(embedding=embedding, scaled_dot_product_attention=attention)
