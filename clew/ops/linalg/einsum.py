"""einsum: products and sums over named dimensions, from permute, reshape and matrix products.

Labels are integers: 0-25 for A-Z and 26-51 for a-z, as in PyTorch's sublist format, and from 52 on
for the dimensions that an ellipsis stands for.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, NoReturn

from clew import errors
from clew.backend import dtypes
from clew.core.public import public
from clew.core.tensor import Tensor
from clew.ops.linalg.matmul import bmm, mm
from clew.ops.shape.joining import tensor_list

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_FIRST_OF_ELLIPSIS = 52
Labels = list[Any]  # of int and Ellipsis, before ellipses are resolved


def _refuse(text: str) -> NoReturn:
    raise RuntimeError(f"einsum(): {text}" + errors.at_user_line())


def _name(label: int) -> str:
    return _LETTERS[label] if label < _FIRST_OF_ELLIPSIS else "..."


# -- reading the equation ----------------------------------------------------------------------


def _parse_term(term: str, start: int, what: str, repeated: str) -> Labels:
    """The labels of one operand or of the output, which begin at `start` in the equation."""
    labels: Labels = []
    position = 0
    while position < len(term):
        letter = term[position]
        if letter == ".":
            if Ellipsis in labels:
                _refuse(f"found '.' for {what} {repeated}")
            if term[position : position + 3] != "...":
                named = " (...)" if what == "output" else ""
                _refuse(f"found '.' for {what} that is not part of any ellipsis{named}")
            labels.append(Ellipsis)
            position += 2
        elif letter in _LETTERS:
            labels.append(_LETTERS.index(letter))
        elif letter != " ":
            _refuse(
                f"invalid subscript given at index {start + position} in the equation string, "
                "subscripts must be in [a-zA-Z]"
            )
        position += 1
    return labels


@functools.lru_cache(maxsize=1024)
def _parse_equation(equation: str, count: int) -> tuple[list[Labels], Labels | None]:
    """The labels of the operands and of the output, which nobody may change: they are kept."""
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    if len(terms) > count:
        _refuse("fewer operands were provided than specified in the equation")
    inputs, start = [], 0
    for index, term in enumerate(terms):
        already = "for which an ellipsis was already found"
        inputs.append(_parse_term(term, start, f"operand {index}", already))
        start += len(term) + 1
    if len(terms) < count:
        _refuse("more operands were provided than specified in the equation")
    if not arrow:
        return inputs, None
    already = "but an ellipsis (...) was already found"
    return inputs, _parse_term(right, len(left) + 2, "output", already)


def _parse_sublists(args: Sequence[Any]) -> tuple[list[Labels], Labels | None, list[Any]]:
    operands = list(args[: len(args) // 2 * 2 : 2])
    sublists = [_check_sublist(labels) for labels in args[1::2]]
    output = _check_sublist(args[-1]) if len(args) % 2 else None
    return sublists, output, operands


def _check_sublist(labels: Sequence[Any]) -> Labels:
    for label in labels:
        if label is not Ellipsis and not 0 <= label < _FIRST_OF_ELLIPSIS:
            raise ValueError(
                "einsum(): subscript in subscript list is not within the valid range [0, 52)"
                + errors.at_user_line()
            )
    return list(labels)


def _ellipsis_sizes(inputs: list[Labels], operands: list[Tensor]) -> list[int]:
    """How many dimensions the ellipsis of each operand stands for."""
    counts = []
    for index, (labels, operand) in enumerate(zip(inputs, operands, strict=True)):
        ndim, named = operand._array.ndim, len(labels) - labels.count(Ellipsis)
        if Ellipsis not in labels and named != ndim:
            _refuse(
                f"the number of subscripts in the equation ({named}) does not match the number of "
                f"dimensions ({ndim}) for operand {index} and no ellipsis was given"
            )
        if named > ndim:
            _refuse(
                f"the number of subscripts in the equation ({named}) is more than the number of "
                f"dimensions ({ndim}) for operand {index}"
            )
        counts.append(ndim - named)
    return counts


def _resolve(labels: Labels, ellipsis: int) -> list[int]:
    """Labels with the ellipsis replaced: its dimensions are counted from the last one."""
    resolved: list[int] = []
    for label in labels:
        if label is Ellipsis:
            resolved += [_FIRST_OF_ELLIPSIS + back for back in range(ellipsis - 1, -1, -1)]
        else:
            resolved.append(label)
    return resolved


def _output_labels(inputs: list[list[int]], output: Labels | None, ellipsis: int) -> list[int]:
    used = [label for labels in inputs for label in labels]
    if output is None:
        once = sorted(
            label for label in set(used) if label < _FIRST_OF_ELLIPSIS and used.count(label) == 1
        )
        return _resolve([Ellipsis, *once], ellipsis)
    resolved = _resolve(output, ellipsis)
    for label in resolved:
        if resolved.count(label) > 1:
            _refuse(f"output subscript {_name(label)} appears more than once in the output")
        if label not in used:
            _refuse(
                f"output subscript {_name(label)} does not appear in the equation for any input "
                "operand"
            )
    return resolved


# -- the operands --------------------------------------------------------------------------------


def _diagonals(index: int, tensor: Tensor, labels: list[int]) -> tuple[Tensor, list[int]]:
    """Take the diagonal over every label that an operand has twice."""
    labels = list(labels)
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            sizes = tensor._array.shape
            if sizes[first] != sizes[second]:
                _refuse(
                    f"subscript {_name(label)} is repeated for operand {index} but the sizes don't "
                    f"match, {sizes[second]} != {sizes[first]}"
                )
            tensor = tensor.diagonal(0, first, second)
            labels = [x for place, x in enumerate(labels) if place not in (first, second)]
            labels.append(label)
    return tensor, labels


def _check_sizes(operands: list[tuple[Tensor, list[int]]]) -> None:
    sizes: dict[int, int] = {}
    for index, (tensor, labels) in enumerate(operands):
        for label, size in zip(labels, tensor._array.shape, strict=True):
            seen = sizes.setdefault(label, size)
            if seen == 1:
                sizes[label] = size
            elif size not in (1, seen):
                _refuse(
                    f"subscript {_name(label)} has size {size} for operand {index} which does not "
                    f"broadcast with previously seen size {seen}"
                )


def _sum_out(tensor: Tensor, labels: list[int], unwanted: set[int]) -> tuple[Tensor, list[int]]:
    dims = [place for place, label in enumerate(labels) if label in unwanted]
    if not dims:
        return tensor, labels
    return tensor.sum(dims), [label for label in labels if label not in unwanted]


def _ordered(tensor: Tensor, labels: list[int], wanted: list[int]) -> Tensor:
    """The dimensions in another order; a label that is missing becomes a dimension of size 1."""
    present = [label for label in wanted if label in labels]
    order = [labels.index(label) for label in present]
    if order != list(range(len(order))):
        tensor = tensor.permute(order)
    for place, label in enumerate(wanted):
        if label not in labels:
            tensor = tensor.unsqueeze(place)
    return tensor


# -- contracting ---------------------------------------------------------------------------------


def _contract_pair(
    a: Tensor, labels_a: list[int], b: Tensor, labels_b: list[int], kept: set[int]
) -> tuple[Tensor, list[int]]:
    """The product of two operands, summed over the labels that nobody needs any more."""
    contracted = {*labels_a} & {*labels_b} - kept
    a, labels_a, b, labels_b = _drop_ones(a, labels_a, b, labels_b, kept)
    a, labels_a = _sum_out(a, labels_a, set(labels_a) - set(labels_b) - kept)
    b, labels_b = _sum_out(b, labels_b, set(labels_b) - set(labels_a) - kept)
    shared = [label for label in labels_a if label in labels_b]
    batch = [label for label in shared if label in kept]
    summed = [label for label in shared if label not in kept]
    left = [label for label in labels_a if label not in shared]
    right = [label for label in labels_b if label not in shared]
    result = batch + left + right
    if not summed:
        terms = _ordered(a, labels_a, result) * _ordered(b, labels_b, result)
        # PyTorch drops dimensions of size 1 at the end.
        return terms.view(terms.shape) if contracted else terms, result
    sizes = dict(zip(labels_b, b._array.shape, strict=True))
    sizes.update(zip(labels_a, a._array.shape, strict=True))
    columns = math.prod(sizes[x] for x in summed)
    rows_left, rows_right = (math.prod(sizes[x] for x in part) for part in (left, right))
    matrices_a = _ordered(a, labels_a, batch + left + summed)
    matrices_b = _ordered(b, labels_b, batch + summed + right)
    if batch or a.dtype is not b.dtype or a.dtype is dtypes.bool_:
        # Also for what products refuse: PyTorch's are products of batches.
        count = math.prod(sizes[x] for x in batch)
        product = bmm(
            matrices_a.reshape(count, rows_left, columns),
            matrices_b.reshape(count, columns, rows_right),
        )
    else:
        product = mm(
            matrices_a.reshape(rows_left, columns), matrices_b.reshape(columns, rows_right)
        )
    return product.reshape([sizes[x] for x in result]), result


def _drop_ones(
    a: Tensor, labels_a: list[int], b: Tensor, labels_b: list[int], kept: set[int]
) -> tuple[Tensor, list[int], Tensor, list[int]]:
    """A dimension of size 1 that broadcasts against the other operand's is none at all.

    Nor is one that both have and nobody needs.
    """
    for label in [x for x in labels_a if x in labels_b]:
        place_a, place_b = labels_a.index(label), labels_b.index(label)
        size_a, size_b = a._array.shape[place_a], b._array.shape[place_b]
        if size_a == 1 and (size_b != 1 or label not in kept):
            a, labels_a = a.squeeze(place_a), [x for x in labels_a if x != label]
        if size_b == 1 and (size_a != 1 or label not in kept):
            b, labels_b = b.squeeze(place_b), [x for x in labels_b if x != label]
    return a, labels_a, b, labels_b


def _no_operands() -> ValueError:
    return ValueError(
        "einsum(): must specify the equation string and at least one operand, or at least one "
        "operand and its subscripts list" + errors.at_user_line()
    )


@public(method=False, out=False)
def einsum(*args: Any) -> Tensor:
    """Sums of products by Einstein's convention: `einsum("ij,jk->ik", a, b)`.

    Labels that the result does not have are summed over. Several operands are contracted from left
    to right.

    Args:
        args: the equation, then the tensors: one group of labels for each, and after "->" those of
            the result; "..." stands for the dimensions not named

    Example:
        >>> a = clew.tensor([[1., 2.], [3., 4.]])
        >>> clew.einsum("ij,jk->ik", a, a)  # matrix product
        tensor([[ 7., 10.],
                [15., 22.]])
        >>> clew.einsum("ii", a)  # trace
        tensor(5.)
    """
    if len(args) < 2:
        raise _no_operands()
    operands: list[Any] = list(args[1:])
    if isinstance(args[0], Tensor):
        inputs, output, operands = _parse_sublists(args)
    else:
        if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
            operands = list(operands[0])
        if not isinstance(args[0], str):
            raise errors.wrong_argument("einsum", "equation", 1, "str", args[0])
        operands = tensor_list("einsum", operands)
        if not operands:
            raise _no_operands()
        inputs, output = _parse_equation(args[0], len(operands))
    counts = _ellipsis_sizes(inputs, operands)
    ellipsis = max(counts)
    resolved = [_resolve(labels, n) for labels, n in zip(inputs, counts, strict=True)]
    wanted = _output_labels(resolved, output, ellipsis)
    terms = [
        _diagonals(index, tensor, labels)
        for index, (tensor, labels) in enumerate(zip(operands, resolved, strict=True))
    ]
    _check_sizes(terms)
    return _contract(terms, wanted)


def _in_output_order(
    terms: list[tuple[Tensor, list[int]]], wanted: list[int]
) -> list[tuple[Tensor, list[int]]]:
    """Two operands, exchanged where the result begins with the second one's own labels.

    So the product is the result, and not its transpose.
    """
    (_, first), (_, second) = terms
    own = [label for label in wanted if (label in first) != (label in second)]
    return terms[::-1] if own and own[0] in second and own[-1] in first else terms


def _contract(terms: list[tuple[Tensor, list[int]]], wanted: list[int]) -> Tensor:
    if len(terms) == 2:
        terms = _in_output_order(terms, wanted)
    result, labels = terms[0]
    for index, (tensor, own_labels) in enumerate(terms[1:], 1):
        later = {label for _, others in terms[index + 1 :] for label in others}
        result, labels = _contract_pair(result, labels, tensor, own_labels, later | {*wanted})
    result, labels = _sum_out(result, labels, set(labels) - set(wanted))
    if len(terms) == 1 and labels == wanted:
        # A tensor of its own also where nothing is left to do.
        return result.permute(list(range(len(labels))))
    return _ordered(result, labels, wanted)
