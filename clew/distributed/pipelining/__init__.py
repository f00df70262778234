"""`torch.distributed.pipelining`: stages of a model on different ranks, fed with micro-batches."""

from clew.distributed.pipelining.cutting import Pipe, SplitPoint, pipe_split, pipeline
from clew.distributed.pipelining.schedules import (
    Schedule1F1B,
    ScheduleGPipe,
    ScheduleInterleaved1F1B,
    ScheduleLoopedBFS,
)
from clew.distributed.pipelining.stage import PipelineStage

__all__ = [
    "Pipe", "PipelineStage", "Schedule1F1B", "ScheduleGPipe", "ScheduleInterleaved1F1B",
    "ScheduleLoopedBFS", "SplitPoint", "pipe_split", "pipeline",
]  # fmt: skip
