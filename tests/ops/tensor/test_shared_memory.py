"""Arrays over the memory of tensors: writes are noticed, and the way out of a graph is named."""

from __future__ import annotations

import gc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import clew

# -- arrays that share memory with tensors -----------------------------------------------------


def _saved_then_written(write: Callable[[clew.Tensor], None]) -> clew.Tensor:
    """A loss whose node saved `data`, after `write(data)`."""
    weight = clew.ones(3, requires_grad=True)
    data = clew.tensor([1.0, 2.0, 3.0])
    loss = (weight * data).sum()
    write(data)
    return loss


def _through_a_view(data: clew.Tensor) -> None:
    data.numpy()[1:][0] = 9.0


def _through_dlpack(data: clew.Tensor) -> None:
    np.from_dlpack(data)[0] = 9.0


def _through_asarray(data: clew.Tensor) -> None:
    np.asarray(data)[:] = 0.0


def _through_data(data: clew.Tensor) -> None:
    data.data.numpy()[2] = 0.0


def _reordered(data: clew.Tensor) -> None:
    data.numpy()[:] = [3.0, 2.0, 1.0]


@pytest.mark.parametrize(
    "write", [_through_a_view, _through_dlpack, _through_asarray, _through_data, _reordered]
)
def test_a_write_to_a_saved_tensor_through_numpy_is_caught(
    write: Callable[[clew.Tensor], None],
) -> None:
    loss = _saved_then_written(write)
    with pytest.warns(UserWarning, match="behind autograd's back") as caught:
        loss.backward()
    assert "shared by .numpy()" in str(caught[0].message)
    assert __file__.rpartition("/")[2] in str(caught[0].message)
    assert caught[0].filename == __file__, "it points to the line that called backward"


def test_a_write_through_an_array_that_was_taken_before_is_caught() -> None:
    weight = clew.ones(3, requires_grad=True)
    data = clew.tensor([1.0, 2.0, 3.0])
    array = data.numpy()
    array[0] = 5.0
    loss = (weight * data).sum()
    loss.backward()
    assert weight.grad.tolist() == [5.0, 2.0, 3.0]
    loss = (weight * data).sum()
    array[0] = 6.0
    with pytest.warns(UserWarning, match="behind autograd's back"):
        loss.backward()


def test_a_write_to_the_array_that_a_tensor_was_made_from_is_caught() -> None:
    weight = clew.ones(3, requires_grad=True)
    array = np.array([1.0, 2.0, 3.0], np.float32)
    loss = (weight * clew.from_numpy(array)).sum()
    array[0] = 6.0
    with pytest.warns(UserWarning, match=r"shared by from_numpy\(\)"):
        loss.backward()


def test_a_write_to_a_large_saved_array_is_caught() -> None:
    weight = clew.ones(100_003, requires_grad=True)
    data = clew.rand(100_003)
    for part in (slice(None), slice(None, None, 2), slice(30_000, 60_000)):
        loss = (weight * data).sum()
        data.numpy()[part] += 1.0
        with pytest.warns(UserWarning, match="behind autograd's back"):
            loss.backward()


def test_a_write_to_a_large_saved_array_with_gaps_is_caught() -> None:
    weight = clew.ones(300, 200, requires_grad=True)
    data = clew.rand(200, 300).T
    loss = (weight * data).sum()
    data.numpy()[...] += 1.0
    with pytest.warns(UserWarning, match="behind autograd's back"):
        loss.backward()


def test_reading_through_numpy_changes_nothing() -> None:
    weight = clew.ones(3, requires_grad=True)
    data = clew.tensor([1.0, 2.0, 3.0])
    loss = (weight * data).sum()
    array = data.numpy()
    assert array.sum() == 6.0
    loss.backward()
    assert weight.grad.tolist() == [1.0, 2.0, 3.0] and data._version == 0


def test_parameters_may_be_written_through_numpy_between_steps() -> None:
    weight = clew.ones(3, requires_grad=True)
    array = weight.detach().numpy()
    for step in range(3):
        array[:] = step
        weight.grad = None
        (weight * weight).sum().backward()
        assert weight.grad.tolist() == [2.0 * step] * 3
        with clew.no_grad():
            weight -= 1.0
        assert array[0] == step - 1


def test_handed_out_arrays_are_forgotten() -> None:
    data = clew.ones(3)
    for _ in range(5):
        array = data.numpy()
    assert len(data._storage.exposures) == 1
    del array
    gc.collect()
    assert not hasattr(data._storage, "exposures") or not data._storage.exposures
    assert clew.from_numpy(np.ones(3)).numpy().tolist() == [1.0, 1.0, 1.0]


# -- why a tensor has no history ---------------------------------------------------------------


def _no_history_text(loss: clew.Tensor) -> str:
    with pytest.raises(RuntimeError, match="element 0 of tensors does not require grad") as caught:
        loss.backward()
    return str(caught.value)


def test_the_way_through_item_is_named() -> None:
    x = clew.ones(2, requires_grad=True)
    value = (x * 3).sum().item()  # leaves here
    text = _no_history_text(clew.tensor(value) * 2)
    assert "`.item()`" in text and "leaves here" in text and "SumBackward0" in text


def test_the_way_through_numpy_is_named() -> None:
    x = clew.ones(2, requires_grad=True)
    array = (x * 3).detach().numpy()  # leaves here
    text = _no_history_text(clew.from_numpy(array * 2).sum())
    assert "`detach().numpy()`" in text and "leaves here" in text and "MulBackward0" in text
    text = _no_history_text(clew.as_tensor(array.tolist()).sum())
    assert "carry no history" in text


def test_data_that_never_left_a_graph_has_no_reason() -> None:
    def in_a_new_thread() -> list[object]:
        return [clew.tensor([1.0])._reason, clew.from_numpy(np.ones(2))._reason]

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(in_a_new_thread).result() == [None, None]
