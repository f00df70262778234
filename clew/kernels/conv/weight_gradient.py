"""The gradient of a convolution's weights: windows of the input times gradients of the output.

Gradients are transposed to panels, a row for each position, by all threads. Then a task multiplies
the windows of some channels, which are read where they lie in padded rows (indirect_gemm.py), by
the panels of one unit after another. The sums, which have a row for each element of a window, are
transposed at the end.

Where there are few channels, units are dealt out to several parts, each with sums of its own. Sums
have one order, whatever the number of threads.
"""

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from clew.kernels.codegen.builder import BODY
from clew.kernels.codegen.contexts import TYPES, ContextCall, compiled
from clew.kernels.codegen.emitter import Emitter
from clew.kernels.codegen.loops import end_module
from clew.kernels.conv.im2col_conv import Geometry
from clew.kernels.conv.indirect_gemm import HEIGHT, call_multiply, emit_functions, padded_rows
from clew.kernels.conv.windows import SIZES, UNIT_COLUMNS, Unit, WindowBuilder, sizes_of
from clew.kernels.gemm.microkernels import Tiling
from clew.kernels.runtime import jit
from clew.kernels.runtime.cpu import vector_bytes
from clew.kernels.runtime.optimization_levels import O0

Array = np.ndarray

# The context: images, weights, gradients of the output, sums, and panels; then sizes. Units are
# counted in one group, and `some_units` from `first_unit` on have their panels at one time.
FIELDS = ("*x", "*w", "*y", "*sums", "*panels", *SIZES, "parts", "units", "some_units",
          "first_unit")  # fmt: skip
# The elements of a window of a task's channels, which stay in the second-level cache.
_MAX_ROWS = 512
# Channels and parts together are so many, as far as there are units.
_MIN_TASKS, _MAX_PARTS = 64, 16
# Panels of all units at one time have no more elements, or those of a few units.
_MAX_PANELS, _MIN_UNITS = 1 << 22, 16


def run(x: Array, w: Array, y: Array, geometry: Geometry) -> None:
    """Fill w; contiguous arrays of one type."""
    call, sums, panels = calling(x.dtype, geometry)
    if call is None:
        w.fill(0)
    else:
        call(x, w, y, np.empty(sums, w.dtype), np.empty(panels, w.dtype))


def calling(dtype: np.dtype, geometry: Geometry) -> tuple[ContextCall | None, int, int]:
    """The call on x, w, y, sums and panels, and how many elements these two have.

    None where nothing is added up.
    """
    llvm = TYPES[dtype]
    plan = _plan(geometry, llvm, jit.threads(), _MAX_PANELS, _MIN_UNITS)
    if not plan.parts:
        return None, 0, 0
    function = _function(llvm)
    return ContextCall(function, plan.sizes, (plan.slices, plan.parts)), plan.sums, plan.panels


class _Plan(NamedTuple):
    """The sizes of the context, the elements of sums and panels, slices of channels, and parts."""

    sizes: tuple[int, ...]
    sums: int
    panels: int
    slices: int
    parts: int


@functools.lru_cache(maxsize=1024)
def _plan(geometry: Geometry, llvm: str, threads: int, max_panels: int, min_units: int) -> _Plan:
    """A network asks for the same few again and again."""
    groups, tiling = geometry.groups, Tiling(vector_bytes(), llvm)
    batch, filters, rows, columns = geometry.output_shape
    filters //= groups
    _, channels, *kernel = geometry.weight_shape
    unit = Unit.of(batch, rows, columns, UNIT_COLUMNS, tiling.columns)
    units = unit.count(geometry) // groups
    parts = min(units, max(min(_MAX_PARTS, _MIN_TASKS // channels), 1))
    if not parts:
        return _Plan((), 0, 0, 0, 0)
    taps = math.prod(kernel)
    tasks = max(2 * threads // (groups * parts), -(-channels * taps // _MAX_ROWS), 1)
    some_channels = -(-channels // tasks)
    slices = -(-channels // some_channels)
    most = groups * math.prod(unit) * columns * -(-filters // tiling.columns) * tiling.columns
    some_units = max(min(units, max_panels // most), min(units, min_units))
    width = -(-filters // tiling.lanes) * tiling.lanes
    sums = parts * groups * slices * padded_rows(some_channels * taps) * width
    sizes = (
        *sizes_of(geometry, unit, some_channels, False, is_indirect=True),
        parts,
        units,
        some_units,
        0,
    )
    return _Plan(sizes, sums, some_units * most, groups * slices, parts)


@functools.cache
def _function(llvm: str) -> Any:
    make = functools.partial(module, llvm)
    return compiled(f"weight gradient {llvm}", make, "start")


def module(llvm: str) -> str:
    """The LLVM module."""
    e = Emitter()
    kernel = _WeightGradient(e, llvm, "1")
    emit_functions(kernel, kernel.tiling)
    kernel.pad_function()
    kernel.offsets_function()
    kernel.transpose_function()
    kernel.add_function()
    kernel.transpose_gradients()
    kernel.body()
    kernel.store_sums()
    kernel.start()
    end_module(e)
    return e.text()


class _WeightGradient(WindowBuilder):
    """The functions of the kernel; names of values follow FIELDS."""

    fields = FIELDS

    def start(self) -> None:
        """`start`: panels of some units, then their products, until all are done."""
        self.e.declare("void @clew_parallel_for(ptr, ptr, i64, i64)")
        with self.function("void @start(ptr %context, i64 %slices, i64 %parts)", O0):
            self.load_fields()
            f = self.f
            with self.loop("0", f["units"], by=f["some_units"]) as first:
                self.update_context("%context", FIELDS, {"first_unit": first})
                count = self.min(f["some_units"], self.sub(f["units"], first))
                self.parallel_for("transposing", self.mul(count, f["groups"]))
                self.parallel_for("body", self.mul("%slices", "%parts"))
            self.parallel_for("storing", "%slices")

    def parallel_for(self, function: str, count: str) -> None:
        given = f"ptr @{function}, ptr %context, i64 {count}, i64 1"
        self.e.line(f"call void @clew_parallel_for({given})")

    def load_fields(self) -> None:
        super().load_fields()
        f, width = self.f, str(self.tiling.columns)
        f["filter_panels"] = self.ceil_div(f["filters"], width)
        # The elements of a panel, and of the sums of a task.
        f["panel_size"] = self.mul(f["images"], f["tile"], f["columns"], width)
        f["sums_rows"] = self.round_up(self.mul(f["some_channels"], f["taps"]), str(HEIGHT))
        f["sums_width"] = self.round_up(f["filters"], str(self.tiling.lanes))
        f["sums_size"] = self.mul(f["sums_rows"], f["sums_width"])

    def enter(self, group: str, unit: str) -> None:
        """Find the images and rows of a unit of a group."""
        tiles = self.ceil_div(self.f["rows"], self.f["tile"])
        image, tile = self.udiv(unit, tiles), self.urem(unit, tiles)
        image = self.add(self.mul(image, self.f["groups"]), group)
        self.enter_unit(self.add(self.mul(image, tiles), tile))

    def panels_of(self, group: str, unit: str) -> str:
        """The address of the panels of a unit."""
        f = self.f
        number = self.add(self.mul(self.sub(unit, f["first_unit"]), f["groups"]), group)
        return self.gep(f["panels"], self.mul(number, f["filter_panels"], f["panel_size"]))

    def transpose_gradients(self) -> None:
        """`transposing`: gradients of units, from a row for each filter to panels."""
        head = "internal void @transposing(ptr %context, i64 %begin, i64 %end)"
        width = str(self.tiling.columns)
        with self.function(head, O0):
            self.load_fields()
            f = self.f
            with self.loop("%begin", "%end") as task:
                group = self.urem(task, f["groups"])
                unit = self.add(f["first_unit"], self.udiv(task, f["groups"]))
                self.enter(group, unit)
                panels = self.panels_of(group, unit)
                with (
                    self.loop("0", f["count"]) as number,
                    self.loop("0", f["filters"], by=width) as first,
                ):
                    image = self.mul(self.add(f["first"], number), f["groups"])
                    row = self.add(self.mul(self.add(image, group), f["filters"]), first)
                    start = self.mul(f["top"], f["columns"])
                    start = self.add(self.mul(row, f["positions"]), start)
                    panel = self.mul(self.udiv(first, width), f["panel_size"])
                    place = self.add(panel, self.mul(number, f["unit_positions"], width))
                    self.transpose(
                        (self.gep(f["y"], start), f["positions"]),
                        (self.gep(panels, place), width),
                        (f["unit_positions"], self.min(width, self.sub(f["filters"], first))),
                    )

    def body(self) -> None:
        """Products of the units of a part, for some channels of a group."""
        with self.function(BODY, O0):
            self.load_fields()
            f = self.f
            padded = self.malloc_padded()
            positions, elements = self.malloc_offsets()
            zeros = self.malloc(str(self.tiling.columns))
            self.fill_zeros(zeros, str(self.tiling.columns))
            with self.loop("%begin", "%end") as task:
                part, number = self.urem(task, f["parts"]), self.udiv(task, f["parts"])
                group, block = self.udiv(number, f["blocks"]), self.urem(number, f["blocks"])
                sums = self.gep(f["sums"], self.mul(task, f["sums_size"]))
                self.enter_block(block)
                # The first unit of the part that is not below the first one here.
                skipped = self.urem(f["first_unit"], f["parts"])
                ahead = self.urem(self.sub(self.add(part, f["parts"]), skipped), f["parts"])
                end = self.min(self.add(f["first_unit"], f["some_units"]), f["units"])
                begin = self.add(f["first_unit"], ahead)
                with self.loop(begin, end, by=f["parts"]) as unit:
                    self.enter(group, unit)
                    self.pad_block(padded)
                    more = self.select(self.icmp("slt", unit, f["parts"]), "0", "1")
                    windows = (padded, elements, positions)
                    self.multiply(windows, self.panels_of(group, unit), (sums, more), zeros)
            for buffer in (padded, positions, elements, zeros):
                self.free(buffer)

    def multiply(
        self, windows: tuple[str, str, str], panels: str, to: tuple[str, str], zeros: str
    ) -> None:
        """The windows of a unit by its panels: to sums, or `more` than what is there."""
        f, width, (sums, more) = self.f, str(self.tiling.columns), to
        with self.loop("0", f["filters"], by=width) as first:
            columns = self.min(self.sub(f["filters"], first), width)
            call_multiply(
                self,
                windows,
                self.gep(panels, self.mul(self.udiv(first, width), f["panel_size"])),
                (self.gep(sums, first), self.mul(f["sums_width"], str(self.itemsize))),
                (self.mul(f["block_channels"], f["taps"]), columns, f["wide"]),
                more,
                zeros,
            )

    def store_sums(self) -> None:
        """`storing`: the sums of all parts for some channels, transposed to weights."""
        head = "internal void @storing(ptr %context, i64 %begin, i64 %end)"
        with self.function(head, O0):
            self.load_fields()
            f = self.f
            with self.loop("%begin", "%end") as number:
                group, block = self.udiv(number, f["blocks"]), self.urem(number, f["blocks"])
                self.enter_block(block)
                place = self.mul(number, f["parts"], f["sums_size"])
                sums = self.gep(f["sums"], place)
                with self.loop("1", f["parts"]) as part:
                    other = self.gep(sums, self.mul(part, f["sums_size"]))
                    self.e.line(f"call void @add(ptr {sums}, ptr {other}, i64 {f['sums_size']})")
                row = self.mul(group, f["filters"], f["depth"])
                start = self.add(row, self.mul(f["first_channel"], f["taps"]))
                rows = self.mul(f["block_channels"], f["taps"])
                self.transpose(
                    (sums, f["sums_width"]),
                    (self.gep(f["w"], start), f["depth"]),
                    (f["filters"], rows),
                )

    def add_function(self) -> None:
        """`add`: sums += others."""
        with self.function("internal void @add(ptr %sums, ptr %others, i64 %count)"):
            self.vectorized("0", "%count", self.add_others)

    def add_others(self, i: str) -> None:
        kind = self.value_type()
        self.add_to(self.gep("%sums", i), self.load(self.gep("%others", i), kind), kind)
