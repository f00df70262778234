"""Checkpoints that PyTorch and clew read of each other; what is in them is not run."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed.checkpoint as torch_dcp
from torch.distributed.checkpoint.format_utils import dcp_to_torch_save as torch_dcp_to_torch_save

import clew
from clew.distributed import checkpoint as dcp
from clew.distributed.checkpoint import format_utils


def state_in(library: Any, factor: float) -> dict[str, Any]:
    """Nested values of all kinds; with a factor of 0, what is to be filled."""
    return {
        "model": {
            "weight": library.arange(6.0).reshape(2, 3) * factor,
            "half": library.ones(2, dtype=library.bfloat16) * factor,
            "number": library.tensor(7) * int(factor),
            "empty": library.zeros(0, 3),
        },
        "list": [library.ones(2) * factor, "text" if factor else ""],
        "optimizer": {"param_groups": [{"lr": 0.5 * factor, "params": ["a", "b"][: int(factor)]}]},
        "tuple": (1, 2.5) if factor else (),
        "step": int(3 * factor),
        "none": None,
    }


def plain(state: Any) -> Any:
    """Nested values of either library as Python's."""
    if isinstance(state, dict):
        return {key: plain(value) for key, value in state.items()}
    if isinstance(state, list | tuple):
        return type(state)(map(plain, state))
    return state.tolist() if hasattr(state, "tolist") else state


@pytest.mark.filterwarnings("ignore::UserWarning")  # PyTorch's, about one process
def test_pytorch_and_clew_read_the_same_files(tmp_path: Path) -> None:
    torch_dcp.save(state_in(torch, 1), checkpoint_id=tmp_path / "theirs")
    dcp.save(state_in(clew, 1), checkpoint_id=tmp_path / "ours")
    for folder in ("theirs", "ours"):
        ours, theirs = state_in(clew, 0), state_in(torch, 0)
        dcp.load(ours, checkpoint_id=tmp_path / folder)
        torch_dcp.load(theirs, checkpoint_id=tmp_path / folder)
        assert plain(ours) == plain(theirs) == plain(state_in(torch, 1))
    torch_dcp_to_torch_save(tmp_path / "ours", tmp_path / "file")
    format_utils.dcp_to_torch_save(tmp_path / "theirs", tmp_path / "file2")
    whole = plain(torch.load(tmp_path / "file", weights_only=False))
    assert plain(clew.load(tmp_path / "file2", weights_only=False)) == whole
    format_utils.torch_save_to_dcp(tmp_path / "file", tmp_path / "again")
    theirs = state_in(torch, 0)
    torch_dcp.load(theirs, checkpoint_id=tmp_path / "again")
    assert plain(theirs) == plain(state_in(torch, 1))


def test_one_writer_for_several_folders(tmp_path: Path) -> None:
    writer = dcp.FileSystemWriter(tmp_path)
    folders = [tmp_path / str(number) for number in range(3)]
    saves = [
        dcp.async_save({"x": clew.full((1000,), number)}, storage_writer=writer, checkpoint_id=each)
        for number, each in enumerate(folders)
    ]
    for number, (each, saving) in enumerate(zip(folders, saves, strict=True)):
        saving.result()
        state = {"x": clew.zeros(1000, dtype=clew.int64)}
        dcp.load(state, checkpoint_id=each)
        assert clew.equal(state["x"], clew.full((1000,), number))


@pytest.mark.filterwarnings("ignore::UserWarning")  # PyTorch's, about one process
def test_files_of_hugging_face(tmp_path: Path) -> None:
    tensors = {"a": clew.arange(4.0), "b": clew.ones(2, 2, dtype=clew.bfloat16)}
    tensors["c"] = tensors["a"]
    for name, options in (
        ("whole", {"fqn_to_index_mapping": {"a": 1, "b": 2, "c": 2}}),
        ("parts", {"save_distributed": True}),
    ):
        folder = tmp_path / name
        dcp.save(tensors, storage_writer=dcp.HuggingFaceStorageWriter(folder, **options))
        ours = {key: clew.zeros_like(value) for key, value in tensors.items()}
        dcp.load(ours, storage_reader=dcp.HuggingFaceStorageReader(folder))
        theirs = {key: torch.zeros(tuple(value.shape)) for key, value in tensors.items()}
        torch_dcp.load(theirs, storage_reader=torch_dcp.HuggingFaceStorageReader(folder))
        assert plain(ours) == plain(theirs) == plain(tensors)
    with pytest.raises(ValueError, match="step is a int"):
        dcp.save({"step": 1}, storage_writer=dcp.HuggingFaceStorageWriter(tmp_path / "no"))


class Evil:
    """Runs something when it is unpickled by Python's pickle."""

    def __reduce__(self) -> Any:
        return exec, ("raise SystemExit('ran')",)


def test_metadata_is_not_run(tmp_path: Path) -> None:
    dcp.save({"x": clew.ones(1)}, checkpoint_id=tmp_path)
    (tmp_path / ".metadata").write_bytes(pickle.dumps(Evil()))
    with pytest.raises(dcp.CheckpointException, match="exec"):
        dcp.load({"x": clew.zeros(1)}, checkpoint_id=tmp_path)


def test_planners_that_would_not_be_asked_are_refused(tmp_path: Path) -> None:
    class Renames(dcp.DefaultSavePlanner):
        def create_local_plan(self) -> None: ...

    class Says(dcp.DefaultSavePlanner):
        def __init__(self) -> None:
            super().__init__(dedup_save_to_lowest_rank=True)

    dcp.save({"x": clew.ones(1)}, checkpoint_id=tmp_path, planner=Says())
    for planner, words in ((Renames(), "whose create_local_plan"), (object(), r"\(object\)")):
        with pytest.raises(NotImplementedError, match=words):
            dcp.save({"x": clew.ones(1)}, checkpoint_id=tmp_path, planner=planner)


def test_what_does_not_fit_changes_nothing(tmp_path: Path) -> None:
    dcp.save({"x": clew.ones(1), "y": clew.ones(1)}, checkpoint_id=tmp_path)
    for wrong, words in (({"z": 1}, "Missing key"), ({"y": clew.zeros(2)}, "Size mismatch")):
        state = {"x": clew.zeros(1), **wrong}
        with pytest.raises(dcp.CheckpointException, match=words):
            dcp.load(state, checkpoint_id=tmp_path)
        assert state["x"].tolist() == [0.0]
    state = {"x": clew.zeros(1), "z": 1}
    dcp.load(state, checkpoint_id=tmp_path, planner=dcp.DefaultLoadPlanner(allow_partial_load=True))
    assert state["x"].tolist() == [1.0] and state["z"] == 1
