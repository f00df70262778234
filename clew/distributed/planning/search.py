"""The best layout of a run, and what breaks first at ten times the scale."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from clew.distributed.planning.model import Cluster, Cost, Layout, Model, cost


def _divisors(number: int) -> list[int]:
    return [each for each in range(1, number + 1) if number % each == 0]


def layouts(model: Model, cluster: Cluster, batch: int) -> Iterator[Layout]:
    """All that fit together: ranks, layers, heads and batch are divided without a rest."""
    for tensor in _divisors(min(cluster.devices, 2 * cluster.per_node)):
        if cluster.devices % tensor or model.heads % tensor:
            continue
        for pipeline in _divisors(cluster.devices // tensor):
            if model.layers % pipeline:
                continue
            data = cluster.devices // tensor // pipeline
            if batch % data:
                continue
            for microbatch in (1, 2, 4, 8):
                if (batch // data) % microbatch:
                    continue
                for zero in (0, 1, 2, 3) if data > 1 and pipeline == 1 else (0, 1):
                    for recomputes in (False, True):
                        yield Layout(tensor, pipeline, data, zero, microbatch, recomputes)


def plans(model: Model, cluster: Cluster, batch: int) -> list[Cost]:
    """All layouts that fit into memory, the fastest first; each with its best micro-batch."""
    found = [cost(model, cluster, batch, each) for each in layouts(model, cluster, batch)]
    # A tenth of the memory is left for fragments and buffers.
    fitting = [each for each in found if each.memory <= 0.9 * cluster.memory]
    best: dict[Layout, Cost] = {}
    for each in sorted(fitting, key=lambda each: (each.step, each.memory)):
        best.setdefault(replace(each.layout, microbatch=1), each)
    return list(best.values())


def at_ten_times(model: Model, cluster: Cluster, best: Cost, batch: int) -> list[str]:
    """What gives way when the model, the cluster or the batch is ten times as large."""
    lines = []
    same = cost(model.ten_times(), cluster, batch, best.layout)
    if same.memory > 0.9 * cluster.memory:
        lines.append(
            f"10 times the parameters: memory, {same.memory / 1e9:.0f} GB of "
            f"{cluster.memory / 1e9:.0f} per device"
        )
    else:
        lines.append(f"10 times the parameters: time, {same.step / best.step:.1f} times a step")
    wide = replace(cluster, devices=cluster.devices * 10)
    more = replace(best.layout, data=best.layout.data * 10)
    if batch < more.data * more.microbatch:
        lines.append(
            f"10 times the devices: the batch of {batch}, which {more.data} replicas cannot share"
        )
    else:
        spread = cost(model, wide, batch, more)
        parts = {
            "the bubble of the pipeline": spread.bubble,
            "messages of tensor parallelism": spread.tensor_time,
            "reductions of gradients": spread.exposed_data_time,
            "computation": spread.compute,
        }
        name = max(parts, key=lambda each: parts[each])
        lines.append(
            f"10 times the devices: a step takes {spread.step / best.step:.2f} of its time (0.10 "
            f"would be perfect), most of it {name}"
        )
    return lines
