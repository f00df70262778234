"""Packed and padded sequences."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import clew
from clew.nn.utils.rnn import PackedSequence, pack_padded_sequence, pack_sequence
from tests.twice import raised, twice


def tools(lib: Any) -> Any:
    return lib.nn.utils.rnn


def ramp(lib: Any, *shape: int) -> Any:
    size = 1
    for each in shape:
        size *= each
    return lib.arange(float(size)).reshape(shape)


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("shape", [(), (2,), (2, 3)])
@pytest.mark.parametrize("lengths", [[4, 3, 1], [4, 4, 4], [2, 2, 1], [1, 3, 2]])
def test_pack_and_pad(lengths: list[int], shape: tuple[int, ...], batch_first: bool) -> None:
    def scenario(lib: Any) -> Any:
        t = tools(lib)
        leading = (3, 4) if batch_first else (4, 3)
        x = lib.randn(*leading, *shape, requires_grad=True)
        packed = t.pack_padded_sequence(x, lengths, batch_first, enforce_sorted=False)
        padded, sizes = t.pad_packed_sequence(packed, batch_first, -1.0, total_length=5)
        (padded * lib.randn(padded.shape)).sum().backward()
        return packed, padded, sizes, x.grad, t.unpack_sequence(packed)

    twice(scenario)()


@twice
def test_sorted_lengths(lib: Any) -> Any:
    t, x = tools(lib), ramp(lib, 4, 3, 2)
    lengths = [lib.tensor([4, 2, 1]), (4, 2, 1), [4, 2, 1], lib.tensor([4, 2, 1], dtype=lib.int32)]
    packs = [t.pack_padded_sequence(x, each) for each in lengths]
    return packs, t.pad_packed_sequence(packs[0]), packs[0].batch_sizes.dtype


@twice
def test_lengths_that_do_not_fit(lib: Any) -> Any:
    pack, x = tools(lib).pack_padded_sequence, ramp(lib, 4, 2, 3)
    return [
        raised(pack, x, [2, 4], words=10),
        raised(pack, x, [4, 0], words=9),
        raised(pack, x, [4], words=12),
        raised(pack, x, [4, 2], batch_first=True, words=12),
        raised(pack, x, lib.tensor([[4, 2]]), words=8),
        raised(pack, x[:0], [1, 1]),
        raised(pack, x[:, 0, 0], [4], words=4),
        raised(tools(lib).pad_packed_sequence, pack(x, [4, 2]), total_length=3, words=12),
        raised(tools(lib).pad_packed_sequence, x),
    ]


def test_a_length_beyond_the_input_is_refused() -> None:
    with pytest.raises(RuntimeError, match="A length of 5 is longer than the padded input"):
        pack_padded_sequence(clew.zeros(4, 2, 3), [5, 1])


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("batch_first", [False, True])
def test_pad_sequence(batch_first: bool, side: str) -> None:
    def scenario(lib: Any) -> Any:
        parts = [lib.randn(length, 2, requires_grad=True) for length in (3, 1, 4)]
        pad = tools(lib).pad_sequence
        padded = pad(parts, batch_first, 7.5, side)
        (padded * lib.randn(padded.shape)).sum().backward()
        whole = [lib.tensor([1, 2, 3]), lib.tensor([4])]
        numbers = pad(whole, batch_first, padding_side=side)
        return padded, [part.grad for part in parts], numbers, pad(tuple(parts), padding_side=side)

    twice(scenario)()


@twice
def test_pad_sequence_of_other_kinds(lib: Any) -> Any:
    pad, one, two = tools(lib).pad_sequence, lib.ones(3, 2), lib.ones(1, 2)
    return [
        pad(one),
        pad(each for each in (one, two)),
        pad([one, two.double()]),
        pad([lib.tensor([1, 2]), lib.tensor([3.5])]),
        pad([lib.tensor([1, 2]), lib.tensor([3])], padding_value=9),
        pad([lib.ones(2, 0), lib.ones(1, 0)]),
        pad([lib.ones(0, 2), lib.ones(1, 2)]),
        raised(pad, [one, two], padding_side="x", words=9),
        raised(pad, []),
        raised(pad, 5, words=9),
        raised(pad, [one, lib.ones(1, 3)], words=4),
    ]


@twice
def test_sequences(lib: Any) -> Any:
    t = tools(lib)
    parts = [ramp(lib, 3, 2), ramp(lib, 1, 2), ramp(lib, 2, 2)]
    unsorted = t.pack_sequence(parts, enforce_sorted=False)
    ordered = t.pack_sequence([parts[0], parts[2], parts[1]])
    padded = t.pad_sequence(parts)
    lengths = lib.tensor([3, 1, 2])
    return [
        unsorted,
        ordered,
        t.unpack_sequence(unsorted),
        # A copy, because torch transposes its argument in place.
        t.unpad_sequence(padded.clone(), lengths),
        t.unpad_sequence(padded.transpose(0, 1), lengths, batch_first=True),
        raised(t.pack_sequence, parts, words=10),
        t.invert_permutation(lib.tensor([2, 0, 1])),
        t.invert_permutation(None),
    ]


@twice
def test_packed_sequence_is_a_tuple(lib: Any) -> Any:
    packed = tools(lib).pack_padded_sequence(ramp(lib, 3, 2, 2), [1, 3], enforce_sorted=False)
    data, batch_sizes, ordered, back = packed
    kind = type(packed)
    return [
        isinstance(packed, tuple),
        len(packed),
        packed._fields,
        (data, batch_sizes, ordered, back),
        packed._replace(data=data * 2),
        kind(data, batch_sizes, ordered),
        kind((data, batch_sizes)),
        raised(kind, data, words=10),
        raised(kind, (data,), words=10),
        repr(packed),
    ]


@twice
def test_packed_sequence_moves(lib: Any) -> Any:
    packed = tools(lib).pack_padded_sequence(ramp(lib, 3, 2, 2), [3, 1])
    names = ["double", "float", "half", "long", "int", "short", "char", "byte"]
    others = [getattr(packed, name)() for name in names]
    return [
        others,
        [other is packed for other in others],
        packed.cpu() is packed,
        packed.to("cpu") is packed,
        packed.to(lib.float64).data.dtype,
        packed.is_cuda,
        packed.is_pinned(),
        raised(packed.to, lib.float64, copy=True),
    ]


def test_packed_sequence_copies_and_pickles() -> None:
    packed = pack_sequence([clew.ones(2, 2), clew.zeros(1, 2)])
    for other in (copy.deepcopy(packed), pickle.loads(pickle.dumps(packed))):
        assert type(other) is PackedSequence
        assert clew.equal(other.data, packed.data)
        assert clew.equal(other.batch_sizes, packed.batch_sizes)


def test_gradients_of_gradients() -> None:
    x = clew.randn(3, 2, 2, dtype=clew.float64, requires_grad=True)

    def run(x: Any) -> Any:
        packed = pack_padded_sequence(x, [1, 3], enforce_sorted=False)
        cubes = PackedSequence(packed.data**3, *packed[1:])
        return clew.nn.utils.rnn.pad_packed_sequence(cubes, padding_value=2.0)[0]

    assert clew.autograd.gradcheck(run, x, check_forward_ad=True)
    assert clew.autograd.gradgradcheck(run, x)
