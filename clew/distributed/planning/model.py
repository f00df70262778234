"""The cost model of `clew plan`: what a step of training needs of each of many devices.

Memory of states is counted as Rajbhandari et al. (2020, "ZeRO") count it. What the model itself
needs, it says: a transformer by formulas (`transformer.py`), a program by what was measured of it
(`program.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

# Products of narrow layers are less efficient. The exponent and the default efficiency of a
# cluster are fitted to the runs of Narayanan et al. (2021).
_WIDEST = 25600
_NARROW_EXPONENT = 0.12


class Model(Protocol):
    """What is trained."""

    @property
    def parameters(self) -> float:
        """Their number."""

    @property
    def layers(self) -> int:
        """Blocks between which a pipeline may be cut."""

    @property
    def heads(self) -> int:
        """By what tensor parallelism can divide a layer."""

    @property
    def width(self) -> int:
        """The smaller side of the products of a layer."""

    @property
    def per_parameter(self) -> tuple[float, float, float]:
        """Bytes of a parameter, of its gradient, and of what the optimizer keeps of it."""

    def flops(self, batch: int, recomputes: bool) -> float:
        """Floating-point operations of a step with so many samples."""

    def boundary_bytes(self, samples: int) -> float:
        """Bytes that go from one layer to the next."""

    def activation_bytes(self, layout: Layout) -> float:
        """Bytes that one device keeps for backward, with as many micro-batches as are in flight."""

    def ten_times(self) -> Model:
        """The same kind of model with ten times the parameters."""


@dataclass(frozen=True)
class Cluster:
    """Devices: how many, in machines of how many; memory, peak flops and bandwidths of each.

    `efficiency` is the part of the peak that matrix products of the widest layers reach.
    """

    devices: int
    per_node: int = 8
    memory: float = 80e9
    flops: float = 312e12
    intra_bandwidth: float = 300e9
    inter_bandwidth: float = 25e9
    efficiency: float = 0.59


@dataclass(frozen=True)
class Layout:
    """How a run is split: tensor, pipeline and data parallel, ZeRO's stage, and what is kept."""

    tensor: int = 1
    pipeline: int = 1
    data: int = 1
    zero: int = 0
    microbatch: int = 1
    recomputes: bool = True
    sequence: bool = True
    # Pieces of each stage that are interleaved over the pipeline.
    interleaved: int = 1

    @property
    def devices(self) -> int:
        """How many it takes."""
        return self.tensor * self.pipeline * self.data

    def words(self) -> str:
        """In short."""
        kept = "recomputes" if self.recomputes else "keeps activations"
        return (
            f"tensor {self.tensor}, pipeline {self.pipeline}, data {self.data}, "
            f"ZeRO-{self.zero}, micro-batch {self.microbatch}, {kept}"
        )


@dataclass(frozen=True)
class Cost:
    """What a layout needs of each device, and how long a step takes."""

    layout: Layout
    states: float
    activations: float
    compute: float
    bubble: float
    tensor_time: float
    pipeline_time: float
    data_time: float
    flops_per_device: float

    @property
    def memory(self) -> float:
        """Bytes of one device."""
        return self.states + self.activations

    @property
    def exposed_data_time(self) -> float:
        """Seconds of reductions that do not hide behind half of backward."""
        return max(0.0, self.data_time - self.compute / 3)

    @property
    def step(self) -> float:
        """Seconds of one step."""
        busy = self.compute + self.bubble + self.tensor_time + self.pipeline_time
        return busy + self.exposed_data_time

    @property
    def achieved(self) -> float:
        """Useful flops per second of one device."""
        return self.flops_per_device / self.step

    @property
    def communication(self) -> float:
        """Seconds of a step in which something is sent, hidden or not."""
        return self.tensor_time + self.pipeline_time + self.data_time

    def parts(self) -> dict[str, float]:
        """What the seconds of a step go into."""
        return {
            "computation": self.compute,
            "tensor parallelism": self.tensor_time,
            "pipeline": self.pipeline_time + self.bubble,
            "gradients": self.exposed_data_time,
        }


def state_bytes(
    parameters: float,
    data: int,
    zero: int,
    per_parameter: tuple[float, float, float] = (2.0, 2.0, 12.0),
) -> float:
    """Bytes of parameters, gradients and the optimizer's state on one device (ZeRO's table).

    In mixed precision with Adam a parameter has 2 bytes, its gradient 2, its copy and moments 12.
    From stage 1 on the optimizer's are cut over the ranks of data parallelism, from 2 on the
    gradients, from 3 on all.
    """
    per = list(per_parameter)
    for place, stage in ((2, 1), (1, 2), (0, 3)):
        if zero >= stage:
            per[place] /= data
    return sum(per) * parameters


def cost(model: Model, cluster: Cluster, batch: int, layout: Layout) -> Cost:
    """Memory and time of one layout."""
    t, p, d = layout.tensor, layout.pipeline, layout.data
    micro = max(1, batch // (d * layout.microbatch))
    states = state_bytes(model.parameters / (t * p), d, layout.zero, model.per_parameter)
    flops = model.flops(batch, layout.recomputes) / layout.devices
    reached = cluster.efficiency * min(1.0, model.width / _WIDEST) ** _NARROW_EXPONENT
    compute = flops / (cluster.flops * reached)
    bubble = compute * (p - 1) / (micro * layout.interleaved)
    band = cluster.intra_bandwidth if t <= cluster.per_node else cluster.inter_bandwidth
    boundary = model.boundary_bytes(layout.microbatch)
    # Two sums over the ranks in each pass through a layer, forward and backward.
    passes = 6 if layout.recomputes else 4
    volume = passes * model.layers / p * micro * boundary * 2 * (t - 1) / t
    hops = 2 * micro * boundary / t * layout.interleaved if p > 1 else 0.0
    across = cluster.inter_bandwidth if t * d > cluster.per_node else cluster.intra_bandwidth
    times = 3 if layout.zero == 3 else 2
    gradient = model.per_parameter[1] * model.parameters / (t * p)
    return Cost(
        layout,
        states,
        model.activation_bytes(layout),
        compute,
        bubble,
        tensor_time=volume / band,
        pipeline_time=hops / cluster.inter_bandwidth,
        data_time=times * gradient * (d - 1) / d / across,
        flops_per_device=flops,
    )
