"""Parameters in parts: ZeRO, fully_shard, tensor parallel, pipeline, checkpoints."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import torch.distributed.checkpoint as torch_dcp

import clew
from clew import distributed as dist
from clew.distributed import checkpoint as dcp
from clew.distributed.fsdp import fully_shard
from tests.distributed.ranks import needs_mpi, passes


@needs_mpi
@pytest.mark.parametrize("ranks", [2, 4])
def test_parts_train_as_one_rank_does(ranks: int) -> None:
    assert passes(ranks, "program_sharding.py").out.count("equal") == ranks


@needs_mpi
def test_functions_of_tensors_in_parts() -> None:
    """On a line and on a grid of ranks."""
    assert passes(4, "program_dtensor.py").out.count("equal") == 4


@needs_mpi
@pytest.mark.filterwarnings("ignore::UserWarning")  # PyTorch's, about one process
def test_training_goes_on_with_other_ranks(tmp_path: Path) -> None:
    """4 ranks save after 7 steps, 2 go on and save after 12, one ends it."""
    folder = str(tmp_path / "checkpoint")
    for ranks, first, last in ((4, 0, 7), (2, 7, 12), (1, 12, 20)):
        passes(ranks, "program_checkpoint.py", folder, str(first), str(last))
    # PyTorch reads what two ranks have written in parts.
    theirs = {"model": {"embed.weight": torch.zeros(16, 16, dtype=torch.float64)}, "step": 0}
    ours = {"model": {"embed.weight": clew.zeros(16, 16, dtype=clew.float64)}, "step": 0}
    torch_dcp.load(theirs, checkpoint_id=folder)
    dcp.load(ours, checkpoint_id=folder)
    assert theirs["step"] == ours["step"] == 12
    weights = [each["model"]["embed.weight"].tolist() for each in (theirs, ours)]
    assert weights[0] == weights[1] != [[0.0] * 16] * 16
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkpoint"]


def test_an_interrupted_save_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "step"
    dcp.save({"x": clew.ones(3)}, checkpoint_id=folder)
    for name in ("filesystem.save", "filesystem.dumps", "filesystem.os.fsync"):
        with monkeypatch.context() as patch:

            def fail(*args: object, **kwargs: object) -> None:
                raise OSError("no space left")

            patch.setattr(f"clew.distributed.checkpoint.{name}", fail)
            with pytest.raises(dcp.CheckpointException, match="no space left"):
                dcp.save({"x": clew.zeros(3)}, checkpoint_id=folder)
            with pytest.raises(dcp.CheckpointException, match="no space left"):
                dcp.async_save({"x": clew.zeros(3)}, checkpoint_id=folder).result()
        state = {"x": clew.zeros(3)}
        dcp.load(state, checkpoint_id=folder)
        assert state["x"].tolist() == [1.0, 1.0, 1.0]
    assert sorted(path.name for path in folder.iterdir()) == [".metadata", "__0_0.distcp"]


def test_one_rank_shards_nothing_away() -> None:
    dist.init_process_group("gloo")
    try:
        model = fully_shard(clew.nn.Linear(3, 2))
        model(clew.ones(1, 3)).sum().backward()
        assert model.weight.grad.full_tensor().tolist() == [[1.0] * 3] * 2
        assert type(model).__name__ == "FSDPLinear" and isinstance(model, clew.nn.Linear)
    finally:
        dist.destroy_process_group()


@needs_mpi
def test_the_wrapper_before_fully_shard() -> None:
    assert passes(2, "program_fsdp1.py").out.count("equal") == 2
