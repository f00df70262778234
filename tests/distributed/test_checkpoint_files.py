"""Checkpoints that PyTorch and clew read of each other; what is in them is not run."""

from __future__ import annotations

import dataclasses
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


def planners_in(checkpoint: Any, library: Any) -> dict[str, Any]:
    """Planners of one's own, as PyTorch's documentation has them, over either library's."""

    class Renames(checkpoint.DefaultSavePlanner):
        def set_up_planner(
            self, state_dict: Any, storage_meta: Any = None, is_coordinator: bool = False
        ) -> None:
            renamed = {f"foo_{key}": value for key, value in state_dict.items()}
            super().set_up_planner(renamed, storage_meta, is_coordinator)

    class Halves(checkpoint.DefaultSavePlanner):
        def create_local_plan(self) -> Any:
            plan = super().create_local_plan()
            for item in plan.items:
                if item.tensor_data is not None:
                    item.tensor_data.properties.dtype = library.float16
            return plan

        def resolve_data(self, write_item: Any) -> Any:
            item = super().resolve_data(write_item)
            return item if write_item.tensor_data is None else item.to(library.float16)

    class SaysMore(checkpoint.DefaultSavePlanner):
        def create_local_plan(self) -> Any:
            return dataclasses.replace(super().create_local_plan(), planner_data={"a": ("more",)})

        def create_global_plan(self, all_plans: Any) -> Any:
            plans, metadata = super().create_global_plan(all_plans)
            data = [plan.planner_data for plan in plans]
            return plans, dataclasses.replace(metadata, planner_data=data)

    class RenamesBack(checkpoint.DefaultLoadPlanner):
        def set_up_planner(
            self, state_dict: Any, metadata: Any = None, is_coordinator: bool = False
        ) -> None:
            renamed = {f"foo_{key}": value for key, value in state_dict.items()}
            super().set_up_planner(renamed, metadata, is_coordinator)
            self.original_state_dict = state_dict

        def load_bytes(self, read_item: Any, value: Any) -> None:
            name = read_item.dest_index.fqn.removeprefix("foo_")
            self.original_state_dict[name] = library.load(value, weights_only=False)

        def create_global_plan(self, global_plan: Any) -> Any:
            self.seen = len(global_plan)
            return super().create_global_plan(global_plan)

        def resolve_tensor(self, read_item: Any) -> Any:
            return library.empty_like(super().resolve_tensor(read_item))

        def commit_tensor(self, read_item: Any, tensor: Any) -> None:
            self.original_state_dict[read_item.dest_index.fqn.removeprefix("foo_")] = tensor * 2

    made = (Renames, Halves, SaysMore, RenamesBack)
    return {each.__name__: each() for each in made}


@pytest.mark.filterwarnings("ignore::UserWarning")  # PyTorch's, about one process
def test_planners_of_ones_own(tmp_path: Path) -> None:
    described, found = [], []
    for checkpoint, library, name in ((torch_dcp, torch, "theirs"), (dcp, clew, "ours")):
        planners = planners_in(checkpoint, library)
        state = {"x": library.arange(4.0), "step": 3}
        for each in ("Renames", "Halves", "SaysMore"):
            folder = tmp_path / name / each
            metadata = checkpoint.save(dict(state), checkpoint_id=folder, planner=planners[each])
            entries = metadata.state_dict_metadata
            kinds = {
                key: str(getattr(getattr(entry, "properties", None), "dtype", None))
                for key, entry in entries.items()
            }
            described.append((kinds, metadata.planner_data))
        # Each reads what the other has written.
        for writer in ("theirs", "ours"):
            if not (tmp_path / writer).exists():
                continue
            wanted = {"x": library.zeros(4), "step": 0}
            back = planners["RenamesBack"]
            checkpoint.load(wanted, checkpoint_id=tmp_path / writer / "Renames", planner=back)
            assert back.seen == 1
            found.append(plain(wanted))
            wanted = {"x": library.zeros(4), "step": 0}
            checkpoint.load(wanted, checkpoint_id=tmp_path / writer / "Halves")
            found.append(plain(wanted))
    assert described[:3] == described[3:]
    assert all(each["step"] == 3 for each in found)
    doubled, whole = [0.0, 2.0, 4.0, 6.0], [0.0, 1.0, 2.0, 3.0]
    assert [each["x"] for each in found] == [doubled, whole] * 3


@pytest.mark.filterwarnings("ignore::UserWarning")  # PyTorch's, about one process
def test_states_that_are_not_flattened(tmp_path: Path) -> None:
    for checkpoint, library, name in ((torch_dcp, torch, "theirs"), (dcp, clew, "ours")):
        planner = checkpoint.DefaultSavePlanner(flatten_state_dict=False)
        state = {"x": library.ones(2), "nested": {"a": [1, 2]}}
        checkpoint.save(state, checkpoint_id=tmp_path / name, planner=planner)
    for folder in ("theirs", "ours"):
        for checkpoint, library in ((torch_dcp, torch), (dcp, clew)):
            wanted = {"x": library.zeros(2), "nested": {}}
            # With its default for the second, PyTorch fills a copy of the state dict.
            planner = checkpoint.DefaultLoadPlanner(False, False)
            checkpoint.load(wanted, checkpoint_id=tmp_path / folder, planner=planner)
            assert plain(wanted) == {"x": [1.0, 1.0], "nested": {"a": [1, 2]}}


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
