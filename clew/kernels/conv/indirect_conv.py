"""Two-dimensional convolution as an indirect GEMM: padded images are read where they lie.

The rows of a unit (windows.py) are copied with their padding. A product's row is an output
position, its k an element of a window, and its columns are filters, whose weights come in panels:
nothing is copied once for each window that it is in. Results, which have a row for each position,
are transposed to images.

The gradient of the input of a convolution with stride 1 is the same, with filters and channels
exchanged, and windows read backwards. Sums have one order, whatever the units and slices.
"""

import functools
import math
from typing import Any

import numpy as np

from clew.kernels.codegen.builder import BODY
from clew.kernels.codegen.contexts import TYPES, ContextCall, compiled
from clew.kernels.codegen.emitter import Emitter
from clew.kernels.codegen.loops import end_module
from clew.kernels.conv import indirect_gemm
from clew.kernels.conv.im2col_conv import Geometry
from clew.kernels.conv.windows import SIZES, Plan, Unit, WindowBuilder, sizes_of
from clew.kernels.gemm.microkernels import Tiling
from clew.kernels.runtime import jit
from clew.kernels.runtime.cpu import vector_bytes
from clew.kernels.runtime.optimization_levels import O0

# The context: arrays, among them panels of weights; sizes; and how many slices the filters have.
FIELDS = ("*x", "*w", "*y", "*bias", "*panels", *SIZES, "slices")
# The k of a block: its panel of weights stays in the second-level cache.
_DEPTH = 576
# With fewer filters it takes less to copy each window than to transpose results; with fewer
# positions, than to make panels of weights.
_MIN_FILTERS, _MIN_DEPTH, _MIN_POSITIONS = 16, 96, 128


def fits(geometry: Geometry) -> bool:
    """Whether a convolution has the size for this kernel."""
    batch, filters, rows, columns = geometry.output_shape
    return (
        filters // geometry.groups >= _MIN_FILTERS
        and geometry.depth >= _MIN_DEPTH
        and batch * rows * columns >= _MIN_POSITIONS
    )


def calling(dtype: np.dtype, geometry: Geometry, flips: bool) -> tuple[ContextCall, int]:
    """The call on x, w, y, the bias and panels, and how many elements these have.

    `flips`: windows are read backwards.
    """
    plan = _plan(geometry, TYPES[dtype], flips, jit.threads())
    function = _function(TYPES[dtype])
    return ContextCall(function, plan.sizes, (plan.packing, plan.tasks)), plan.shared


@functools.lru_cache(maxsize=1024)
def _plan(geometry: Geometry, llvm: str, flips: bool, threads: int) -> Plan:
    """A network asks for the same few again and again."""
    tiling = Tiling(vector_bytes(), llvm)
    filters, channels, *kernel = geometry.weight_shape
    unit = Unit.filling(geometry, threads, tiling.columns, 1)
    units = unit.count(geometry)
    some_channels = max(min(_DEPTH // math.prod(kernel), channels), 1)
    some_channels = -(-channels // -(-channels // some_channels))
    panels = -(-(filters // geometry.groups) // tiling.columns)
    slices = max(min(-(-threads // max(units, 1)), panels), 1)
    sizes = (*sizes_of(geometry, unit, some_channels, flips, is_indirect=True), slices)
    elements = geometry.groups * panels * geometry.depth * tiling.columns
    return Plan(sizes, elements, geometry.groups * panels, units * slices)


@functools.cache
def _function(llvm: str) -> Any:
    make = functools.partial(module, llvm)
    return compiled(f"indirect convolution {llvm}", make, "conv")


def module(llvm: str) -> str:
    """The LLVM module."""
    e = Emitter()
    kernel = _IndirectConvolution(e, llvm, "1")
    indirect_gemm.emit_functions(kernel, kernel.tiling)
    kernel.pad_function()
    kernel.offsets_function()
    kernel.transpose_function()
    kernel.pack_weights()
    kernel.body()
    e.declare("void @clew_parallel_for(ptr, ptr, i64, i64)")
    with kernel.function("void @conv(ptr %context, i64 %panels, i64 %tasks)", O0):
        e.line("call void @clew_parallel_for(ptr @packing, ptr %context, i64 %panels, i64 1)")
        e.line("call void @clew_parallel_for(ptr @body, ptr %context, i64 %tasks, i64 1)")
    end_module(e)
    return e.text()


class _IndirectConvolution(WindowBuilder):
    """The functions of the kernel; names of values follow FIELDS."""

    fields = FIELDS

    def load_fields(self) -> None:
        super().load_fields()
        f, width = self.f, str(self.tiling.columns)
        f["filter_panels"] = self.ceil_div(f["filters"], width)
        f["panel_size"] = self.mul(f["depth"], width)
        # The elements of the results of a unit and a panel.
        most = self.mul(f["images"], f["tile"], f["columns"])
        f["results_size"] = self.mul(self.round_up(most, str(indirect_gemm.HEIGHT)), width)

    def pack_weights(self) -> None:
        """`packing`: panels of weights, with a row for each element of a window."""
        head = "internal void @packing(ptr %context, i64 %begin, i64 %end)"
        width = str(self.tiling.columns)
        with self.function(head, O0):
            self.load_fields()
            f = self.f
            with self.loop("%begin", "%end") as number:
                group, panel = (how(number, f["filter_panels"]) for how in (self.udiv, self.urem))
                first = self.mul(panel, width)
                row = self.add(self.mul(group, f["filters"]), first)
                self.transpose(
                    (self.gep(f["w"], self.mul(row, f["depth"])), f["depth"]),
                    (self.gep(f["panels"], self.mul(number, f["panel_size"])), width),
                    (f["depth"], self.min(width, self.sub(f["filters"], first))),
                )

    def body(self) -> None:
        """A unit, and a slice of the panels."""
        with self.function(BODY, O0):
            self.load_fields()
            f = self.f
            padded, (positions, elements) = self.malloc_padded(), self.malloc_offsets()
            initial = self.malloc(str(self.tiling.columns))
            results = self.malloc(self.mul(f["filter_panels"], f["results_size"]))
            with self.loop("%begin", "%end") as task:
                unit, number = self.udiv(task, f["slices"]), self.urem(task, f["slices"])
                self.enter_unit(unit)
                first, end = (
                    self.udiv(self.mul(each, f["filter_panels"]), f["slices"])
                    for each in (number, self.add(number, "1"))
                )
                with self.loop("0", f["blocks"]) as block:
                    self.enter_block(block)
                    self.pad_block(padded)
                    with self.loop(first, end) as panel:
                        self.load_initial(initial, block, panel)
                        self.multiply((padded, positions, elements), results, block, panel, initial)
                with self.loop(first, end) as panel:
                    self.store_results(results, panel)
            for buffer in (padded, positions, elements, initial, results):
                self.free(buffer)

    def load_initial(self, initial: str, block: str, panel: str) -> None:
        """What sums begin with: the bias, and zeros in other blocks than the first."""
        f, width = self.f, str(self.tiling.columns)
        self.fill_zeros(initial, width)
        has_bias = self.e.value(f"icmp ne ptr {f['bias']}, null")
        with self.if_then(self.and_(has_bias, self.icmp("eq", block, "0"))):
            first = self.add(self.mul(f["group"], f["filters"]), self.mul(panel, width))
            source = self.gep(f["bias"], first)
            with self.loop("0", self.panel_columns(panel)) as i:
                self.store(self.load(self.gep(source, i)), self.gep(initial, i))

    def multiply(
        self, windows: tuple[str, str, str], results: str, block: str, panel: str, initial: str
    ) -> None:
        """All positions by one panel."""
        f, width = self.f, str(self.tiling.columns)
        number = self.add(self.mul(f["group"], f["filter_panels"]), panel)
        weights = self.add(
            self.mul(number, f["panel_size"]), self.mul(f["first_channel"], f["taps"], width)
        )
        indirect_gemm.call_multiply(
            self,
            windows,
            self.gep(f["panels"], weights),
            (
                self.gep(results, self.mul(panel, f["results_size"])),
                str(self.tiling.columns * self.itemsize),
            ),
            (f["wide"], self.panel_columns(panel), self.mul(f["block_channels"], f["taps"])),
            self.select(self.icmp("eq", block, "0"), "0", "1"),
            initial,
        )

    def panel_columns(self, panel: str) -> str:
        """The filters of a panel."""
        width = str(self.tiling.columns)
        return self.min(width, self.sub(self.f["filters"], self.mul(panel, width)))

    def store_results(self, results: str, panel: str) -> None:
        """The results of a panel, transposed to images."""
        f, width = self.f, str(self.tiling.columns)
        source = self.gep(results, self.mul(panel, f["results_size"]))
        with self.loop("0", f["count"]) as number:
            image = self.mul(self.add(f["first"], number), f["groups"])
            filter_ = self.add(
                self.mul(self.add(image, f["group"]), f["filters"]), self.mul(panel, width)
            )
            place = self.add(self.mul(filter_, f["positions"]), self.mul(f["top"], f["columns"]))
            position = self.mul(number, f["unit_positions"])
            self.transpose(
                (self.gep(source, self.mul(position, width)), width),
                (self.gep(f["y"], place), f["positions"]),
                (self.panel_columns(panel), f["unit_positions"]),
            )
