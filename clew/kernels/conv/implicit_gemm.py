"""Two-dimensional convolution as a GEMM whose packed operand is made from the images directly.

The windows of a unit (windows.py) are copied to panels of columns, as GEMM packs them, and the
weights, a matrix as they are, are multiplied by the panels. Where there are many filters, nothing
is copied: `calling` gives the call of indirect_conv.py.

The gradient of the input of a convolution with stride 1 is the same, with filters and channels
exchanged, and windows read backwards.

Where there are fewer units than threads, all threads make the panels first, and then each
multiplies a slice of the filters. Sums have one order, whatever the units and slices.
"""

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from clew.kernels.codegen.builder import BODY
from clew.kernels.codegen.contexts import TYPES, ContextCall, compiled
from clew.kernels.codegen.emitter import Emitter
from clew.kernels.codegen.image_rows import ImageRowBuilder
from clew.kernels.codegen.loops import end_module
from clew.kernels.conv import indirect_conv
from clew.kernels.conv.im2col_conv import GRAD_INPUT, Geometry, slice_count, specialized_stride
from clew.kernels.conv.windows import SIZES, Plan, Unit, WindowBuilder, sizes_of
from clew.kernels.gemm.blocking import MC
from clew.kernels.gemm.inline_gemm import call_multiply, provide_multiply
from clew.kernels.gemm.microkernels import Tiling
from clew.kernels.runtime import jit
from clew.kernels.runtime.cpu import vector_bytes
from clew.kernels.runtime.optimization_levels import O0

Array = np.ndarray

# The context: arrays, sizes, and how many slices the filters have. `in_place`: every panel lies in
# one image and has whole vectors, so that products are stored where they belong.
FIELDS = ("*x", "*w", "*y", "*bias", "*shared", *SIZES, "slices", "in_place")
# The k of a block of panels, which stay in the second-level cache.
_DEPTH = 256


def run(kind: str, x: Array, w: Array, y: Array, geometry: Geometry, bias: Array | None) -> None:
    """Fill y, or (GRAD_INPUT, stride 1) x, and add the bias; contiguous arrays of one type."""
    call, shared = calling(kind, x.dtype, geometry)
    if kind == GRAD_INPUT:
        x, w, y = y, _transposed(w, geometry.groups), x
    call(x, w, y, bias, np.empty(shared, x.dtype))


def calling(kind: str, dtype: np.dtype, geometry: Geometry) -> tuple[ContextCall, int]:
    """The call on x, w, y, the bias and shared panels, and how many elements these have.

    For GRAD_INPUT x is the gradient of the output, y that of the input, and w transposed.
    """
    if kind == GRAD_INPUT:
        groups, (filters, channels, *kernel) = geometry.groups, geometry.weight_shape
        windows = zip(geometry.dilation, kernel, geometry.padding, strict=True)
        padding = tuple(dilation * (size - 1) - pad for dilation, size, pad in windows)
        geometry = geometry._replace(
            input_shape=geometry.output_shape, output_shape=geometry.input_shape, padding=padding,
            weight_shape=(groups * channels, filters // groups, *kernel),
        )  # fmt: skip
    if indirect_conv.fits(geometry):
        return indirect_conv.calling(dtype, geometry, kind == GRAD_INPUT)
    plan = _plan(geometry, TYPES[dtype], kind == GRAD_INPUT, jit.threads())
    function = _function(TYPES[dtype], specialized_stride(geometry.stride[1]))
    return ContextCall(function, plan.sizes, (plan.packing, plan.tasks)), plan.shared


@functools.lru_cache(maxsize=1024)
def _plan(geometry: Geometry, llvm: str, flips: bool, threads: int) -> Plan:
    """A network asks for the same few again and again."""
    tiling = Tiling(vector_bytes(), llvm)
    filters, channels, *kernel = geometry.weight_shape
    unit = Unit.filling(geometry, threads, tiling.columns, tiling.columns)
    units = unit.count(geometry)
    slices = slice_count(units, filters // geometry.groups)
    some_channels = -(-channels // -(-geometry.depth // _DEPTH))
    blocks = -(-channels // some_channels)
    sizes = sizes_of(geometry, unit, some_channels, flips)
    in_place = int(_is_in_place(geometry, unit, tiling))
    shared = 0
    if slices > 1:
        panels = -(-math.prod(unit) * geometry.output_shape[3] // tiling.columns)
        rows = some_channels * math.prod(kernel) + 1
        shared = units * blocks * panels * rows * tiling.columns
    packing = units * blocks if shared else 0
    return Plan((*sizes, slices, in_place), shared, packing, units * slices)


def _is_in_place(geometry: Geometry, unit: Unit, tiling: Tiling) -> bool:
    rows, columns = geometry.output_shape[2:]
    positions = unit.tile * columns
    vectors = tiling.lanes if unit.images == 1 else tiling.columns
    return rows % unit.tile == 0 and positions % vectors == 0


def _transposed(w: Array, groups: int) -> Array:
    """Weights of shape (groups * C, O / groups, *K)."""
    filters, channels, *kernel = w.shape
    result = np.empty((groups * channels, filters // groups, *kernel), w.dtype)
    transposing(w.dtype, w.shape, groups)(w, result)
    return result


def transposing(dtype: np.dtype, shape: Sequence[int], groups: int) -> ContextCall:
    """The call that exchanges the filters and channels of weights."""
    filters, channels, *kernel = shape
    sizes = filters // groups, channels, math.prod(kernel)
    return ContextCall(_transpose(TYPES[dtype]), sizes, (groups * channels, _TRANSPOSED_CHANNELS))


# -- weights of the gradient of the input ----------------------------------------------------------

_TRANSPOSE_FIELDS = ("*w", "*transposed", "filters", "channels", "taps")
# The channels that are copied together: their elements of one filter lie side by side.
_TRANSPOSED_CHANNELS = 8


@functools.cache
def _transpose(llvm: str) -> Any:
    make = functools.partial(transpose_module, llvm)
    return compiled(f"transposed weights {llvm} {vector_bytes()}", make, "transpose")


def transpose_module(llvm: str) -> str:
    """The LLVM module that exchanges filters and channels.

    Whole vectors are copied: what is stored beyond the taps of a filter is overwritten by the next
    one. Only the last filters are copied element by element.
    """
    c = ImageRowBuilder(Emitter(), llvm)
    lanes = c.max_lanes
    with c.function(BODY):
        f = c.load_context(*_TRANSPOSE_FIELDS)
        whole = c.sub(f["filters"], "1", c.ceil_div(str(lanes), f["taps"]))
        whole = c.max(whole, "0")
        last = c.ceil_div("%end", f["channels"])
        with c.loop(c.udiv("%begin", f["channels"]), last) as group:
            first = c.mul(group, f["channels"])
            begin = c.max(first, "%begin")
            end = c.min(c.add(first, f["channels"]), "%end")
            # The first window of the group, less the channels of the groups before.
            origin = c.sub(c.mul(first, f["filters"]), first)
            for top, bottom, width in (("0", whole, lanes), (whole, f["filters"], 1)):
                kind = f"<{width} x {llvm}>" if width > 1 else llvm
                with c.loop(top, bottom) as number, c.loop(begin, end) as channel:
                    source = c.add(origin, c.mul(number, f["channels"]), channel)
                    target = c.add(c.mul(channel, f["filters"]), number)
                    source = c.gep(f["w"], c.mul(source, f["taps"]))
                    target = c.gep(f["transposed"], c.mul(target, f["taps"]))
                    with c.loop("0", f["taps"], by=width) as tap:
                        c.store(c.load(c.gep(source, tap), kind), c.gep(target, tap), kind)
    end_module(c.e, "transpose")
    return c.e.text()


# -- the convolution -------------------------------------------------------------------------------


@functools.cache
def _function(llvm: str, stride: str) -> Any:
    provide_multiply(llvm)
    make = functools.partial(module, llvm, stride)
    return compiled(f"implicit gemm {llvm} {stride}", make, "conv")


def module(llvm: str, stride: str) -> str:
    """The LLVM module, for a constant stride along rows or (empty) for any."""
    e = Emitter()
    kernel = _ImplicitGemm(e, llvm, stride)
    kernel.pad_function()
    kernel.pack_function()
    kernel.add_bias_function()
    kernel.copy_function()
    kernel.pack_body()
    kernel.body()
    e.declare("void @clew_parallel_for(ptr, ptr, i64, i64)")
    with kernel.function("void @conv(ptr %context, i64 %shared, i64 %tasks)", O0):
        with kernel.if_then(kernel.icmp("sgt", "%shared", "0")):
            e.line("call void @clew_parallel_for(ptr @packing, ptr %context, i64 %shared, i64 1)")
        e.line("call void @clew_parallel_for(ptr @body, ptr %context, i64 %tasks, i64 1)")
    end_module(e)
    return e.text()


class _ImplicitGemm(WindowBuilder):
    """The functions of the kernel; names of values follow FIELDS."""

    fields = FIELDS

    def load_fields(self) -> None:
        super().load_fields()
        f = self.f
        f["most_panels"] = self.ceil_div(
            self.mul(f["images"], f["tile"], f["columns"]), str(self.tiling.columns)
        )
        # A row more than there are k: vectors may be stored beyond the end of a panel's last row.
        rows = self.add(self.mul(f["some_channels"], f["taps"]), "1")
        f["panel_size"] = self.mul(rows, str(self.tiling.columns))
        f["block_size"] = self.mul(f["most_panels"], f["panel_size"])

    def pack_block(self, padded: str, panels: str) -> None:
        """The panels of the present unit and block."""
        f, width = self.f, str(self.tiling.columns)
        self.pad_block(padded)
        with self.loop("0", f["wide"], by=width) as first:
            target = self.gep(panels, self.mul(self.udiv(first, width), f["panel_size"]))
            count = self.min(self.sub(f["wide"], first), width)
            self.pack_columns(padded, first, count, target, width)

    def pack_body(self) -> None:
        """`packing`: the shared panels of some units and blocks."""
        with self.function("internal void @packing(ptr %context, i64 %begin, i64 %end)", O0):
            self.load_fields()
            f = self.f
            padded = self.malloc_padded()
            with self.loop("%begin", "%end") as task:
                self.enter_unit(self.udiv(task, f["blocks"]))
                self.enter_block(self.urem(task, f["blocks"]))
                self.pack_block(padded, self.gep(f["shared"], self.mul(task, f["block_size"])))
            self.free(padded)

    def body(self) -> None:
        """A unit, and a slice of the filters; panels are shared if there are several slices."""
        with self.function(BODY, O0):
            self.load_fields()
            f = self.f
            is_shared = self.icmp("sgt", f["slices"], "1")
            padded, panels = self.malloc_padded(), self.malloc(f["block_size"])
            results = self.malloc(
                self.mul(f["most_panels"], f["filters"], str(self.tiling.columns))
            )
            with self.loop("%begin", "%end") as task:
                unit, number = self.udiv(task, f["slices"]), self.urem(task, f["slices"])
                self.enter_unit(unit)
                first = self.udiv(self.mul(number, f["filters"]), f["slices"])
                end = self.udiv(self.mul(self.add(number, "1"), f["filters"]), f["slices"])
                f["first_filter"], f["some_filters"] = first, self.sub(end, first)
                with self.loop("0", f["blocks"]) as block:
                    self.enter_block(block)
                    with self.if_then(self.not_(is_shared)):
                        self.pack_block(padded, panels)
                    place = self.mul(self.add(self.mul(unit, f["blocks"]), block), f["block_size"])
                    packed = self.gep(f["shared"], place)
                    packed = self.select(is_shared, packed, panels, "ptr")
                    self.multiply(packed, results, block)
                self.finish(results)
            for buffer in (padded, panels, results):
                self.free(buffer)

    def multiply(self, panels: str, results: str, block: str) -> None:
        """Rows of weights that stay in the cache, by one panel after another."""
        f, item, width = self.f, str(self.itemsize), self.tiling.columns
        in_place = self.icmp("ne", f["in_place"], "0")
        more = self.select(self.icmp("eq", block, "0"), "0", "1")
        start = self.add(self.mul(f["group"], f["filters"]), f["first_filter"])
        weights = self.add(self.mul(start, f["depth"]), self.mul(f["first_channel"], f["taps"]))
        depth = self.mul(f["block_channels"], f["taps"])
        with (
            self.loop("0", f["some_filters"], by=MC) as top,
            self.loop("0", f["wide"], by=width) as first,
        ):
            height = self.min(self.sub(f["some_filters"], top), str(MC))
            columns = self.round_up(
                self.min(self.sub(f["wide"], first), str(width)), str(self.tiling.lanes)
            )
            panel = self.udiv(first, str(width))
            a = self.gep(f["w"], self.add(weights, self.mul(top, f["depth"])))
            b = self.gep(panels, self.mul(panel, f["panel_size"]))
            row = self.add(self.mul(panel, f["some_filters"]), top)
            buffered = self.gep(results, self.mul(row, str(width)))
            c = self.select(in_place, self.output(first, top), buffered, "ptr")
            stride = self.select(in_place, f["positions"], str(width))
            matrices = (
                (a, self.mul(f["depth"], item), item),
                (b, str(width * self.itemsize), item),
                (c, self.mul(stride, item), item),
            )
            call_multiply(self.e, self.llvm, matrices, (height, columns, depth), more)

    def output(self, position: str, row: str) -> str:
        """The address of a position of the unit in the output, for a filter of the slice."""
        f = self.f
        image = self.add(f["first"], self.udiv(position, f["unit_positions"]))
        filter_ = self.add(
            self.mul(self.add(self.mul(image, f["groups"]), f["group"]), f["filters"]),
            f["first_filter"],
            row,
        )
        within = self.add(
            self.mul(f["top"], f["columns"]), self.urem(position, f["unit_positions"])
        )
        return self.gep(f["y"], self.add(self.mul(filter_, f["positions"]), within))

    def finish(self, results: str) -> None:
        """Copy buffered results to their images, and add the bias."""
        f, width = self.f, str(self.tiling.columns)
        is_buffered = self.icmp("eq", f["in_place"], "0")
        with self.if_then(is_buffered), self.loop("0", f["wide"], by=width) as first:
            end = self.min(f["wide"], self.add(first, width))
            panel = self.mul(self.udiv(first, width), f["some_filters"], width)
            given = f"ptr {self.gep(results, panel)}, i64 {f['some_filters']}"
            # A panel has parts of one or several images.
            last = self.ceil_div(end, f["unit_positions"])
            with self.loop(self.udiv(first, f["unit_positions"]), last) as image:
                begin = self.max(self.mul(image, f["unit_positions"]), first)
                stop = self.min(self.mul(self.add(image, "1"), f["unit_positions"]), end)
                self.e.line(
                    f"call void @copy({given}, i64 {self.sub(begin, first)}, "
                    f"ptr {self.output(begin, '0')}, i64 {f['positions']}, "
                    f"i64 {self.sub(stop, begin)})"
                )
        has_bias = self.e.value(f"icmp ne ptr {f['bias']}, null")
        with self.if_then(has_bias), self.loop("0", f["count"]) as image:
            start = self.add(self.mul(f["group"], f["filters"]), f["first_filter"])
            place = self.output(self.mul(image, f["unit_positions"]), "0")
            self.e.line(
                f"call void @add_bias(ptr {place}, ptr {self.gep(f['bias'], start)}, "
                f"i64 {f['some_filters']}, i64 {f['positions']}, i64 {f['unit_positions']})"
            )

    def copy_function(self) -> None:
        """`copy`: some columns of a panel of results to the rows of an image."""
        head = (
            "internal void @copy(ptr %panel, i64 %rows, i64 %column, ptr %target, i64 %stride, "
            "i64 %count)"
        )
        with self.function(head), self.loop("0", "%rows") as row:
            place = self.add(self.mul(row, str(self.tiling.columns)), "%column")
            target = self.gep("%target", self.mul(row, "%stride"))
            self.copy_row(self.gep("%panel", place), target, "0", "%count")

    def add_bias_function(self) -> None:
        """`add_bias`: one number for each row."""
        head = "internal void @add_bias(ptr %target, ptr %bias, i64 %rows, i64 %stride, i64 %count)"
        with self.function(head), self.loop("0", "%rows") as row:
            number = self.load(self.gep("%bias", row))
            target = self.gep("%target", self.mul(row, "%stride"))

            def add(i: str) -> None:
                self.add_to(self.gep(target, i), self.splat(number), self.value_type())

            self.vectorized("0", "%count", add)
