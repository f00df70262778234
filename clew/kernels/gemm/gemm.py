"""GEMM as a generalized ufunc: c = a b + bias, with any strides, batches, and threads.

The result is made of register tiles (microkernels.py) over blocks of k that stay in the cache.
Columns of `b` become vectors: `b` is read in place if it is row-major and few rows use it, and is
packed otherwise. Where the result is column-major, the transposed product is computed.

Every element of the result is a sum in the order of k, in blocks of one size, whatever the number
of threads and of tasks.
"""

from __future__ import annotations

import functools
from functools import partial

from clew.kernels.codegen.builder import IRBuilder
from clew.kernels.codegen.emitter import Emitter
from clew.kernels.codegen.loops import LOOP_SIGNATURE, end_module
from clew.kernels.gemm import gemm_panels, microkernel_table, packing
from clew.kernels.gemm.blocking import ARGUMENTS, FIELDS, MacroKernel, emit_body, emit_pack_all
from clew.kernels.gemm.microkernels import K_UNROLL, Tile, Tiling, emit_microkernel
from clew.kernels.runtime import jit
from clew.kernels.runtime.cpu import vector_bytes
from clew.kernels.runtime.lazy_compilation import LazyFunction, LazyTable
from clew.kernels.runtime.optimization_levels import O0

# The most columns of a task, which packs them.
MAX_TASK_COLUMNS = 512
# Multiplications that are worth a task.
GRAIN = 1 << 20
# The most tasks of a call, each of which packs its columns anew; and of each thread, where there
# are many: with few tasks for each, some threads would wait for others.
MAX_TASKS, MAX_TASKS_OF_THREAD = 32, 4
# The tasks that there should be at least, so that all threads have work; one for each thread, where
# there are more of them.
MIN_TASKS = 8
# `b` is not packed if at most so many rows use it.
MAX_UNPACKED_ROWS = 48
# A column-major `a` is packed if there are at least so many columns.
MIN_PACKED_COLUMNS = 256
# The least rows of a task, where the rows are cut as well.
MIN_TASK_ROWS = 96
# Bytes after which addresses share the lines of the first cache.
SAME_LINES = 4096


# What changes places in the transposed product.
TRANSPOSED_PAIRS = (
    ("a", "b"), ("a_row_stride", "b_col_stride"), ("a_k_stride", "b_k_stride"),
    ("a_batch_stride", "b_batch_stride"), ("c_row_stride", "c_col_stride"), ("m", "n"),
    ("bias_row_stride", "bias_col_stride"),
)  # fmt: skip
# The ufuncs, and whether they add a bias. An asynchronous product may be an asynchronous job.
UFUNCS = {"product": False, "affine": True, "async_product": False}
# The functions that a product inside of another kernel calls (inline_gemm.py).
EXPORTED = ("gemm", "panel", "pack_all")


def microkernel_module(tiling: Tiling, tile: Tile) -> str:
    """The module of one microkernel."""
    e = Emitter()
    emit_microkernel(e, tiling, tile)
    end_module(e)
    return e.text()


# What emits the bodies of the helpers, by their names.
HELPER_BODIES = {
    "copy_tile": gemm_panels.copy_tile,
    "copy_strided": gemm_panels.copy_strided,
    "pack_a": packing.pack_a,
    "pack_b_contiguous": packing.pack_b_contiguous,
    "pack_b_transposed": packing.pack_b_transposed,
    "pack_b_strided": packing.pack_b_strided,
}


def helper_module(tiling: Tiling, name: str) -> str:
    """The module of one helper of the microkernels."""
    c = IRBuilder(Emitter(), tiling.llvm)
    with c.function(microkernel_table.signature(name)):
        HELPER_BODIES[name](c, tiling)
    end_module(c.e)
    return c.e.text()


def gemm_module(llvm: str) -> str:
    """The module of the ufuncs' loops, the driver, and the macro-kernel."""
    e, tiling = Emitter(), Tiling(vector_bytes(), llvm)
    c = IRBuilder(e, llvm, O0)
    e.declare("void @clew_parallel_for(ptr, ptr, i64, i64)")
    packing.pack_b(c, tiling)
    gemm_panels.Panel(c, tiling).emit()
    MacroKernel(c, tiling).emit()
    emit_pack_all(c, tiling)
    emit_body(c)
    _Driver(c, tiling).emit()
    for name, with_bias in UFUNCS.items():
        _UfuncLoop(c, name, with_bias).emit()
    end_module(e)
    return e.text()


def reads_b_in_place(c: IRBuilder, tiling: Tiling, f: dict[str, str]) -> str:
    """Whether `b` is not packed: it has whole vectors, and few rows, or the layout of a panel."""
    is_row_major = c.icmp("eq", f["b_col_stride"], str(c.itemsize))
    whole = c.icmp("eq", c.urem(f["n"], str(tiling.lanes)), "0")
    few_rows = c.icmp("sle", f["m"], str(MAX_UNPACKED_ROWS))
    is_panel = c.and_(
        c.icmp("eq", f["b_k_stride"], str(tiling.columns * c.itemsize)),
        c.icmp("sle", f["n"], str(tiling.columns)),
    )
    return c.and_(c.and_(is_row_major, whole), c.or_(few_rows, is_panel))


def should_pack_a(c: IRBuilder, f: dict[str, str]) -> str:
    """Whether `a` is packed: if it is column-major, and many columns use it."""
    is_column_major = c.and_(
        c.icmp("eq", f["a_row_stride"], str(c.itemsize)),
        c.icmp("ne", f["a_k_stride"], str(c.itemsize)),
    )
    # Such elements evict each other from the cache.
    crowded = c.icmp("eq", c.urem(f["a_k_stride"], str(SAME_LINES)), "0")
    fewest = c.select(crowded, str(MIN_PACKED_COLUMNS // 4), str(MIN_PACKED_COLUMNS))
    return c.select(c.and_(is_column_major, c.icmp("sge", f["n"], fewest)), "1", "0")


def block_depth(c: IRBuilder, tiling: Tiling, f: dict[str, str]) -> str:
    """The depth of the blocks of k: all are equal but the last."""
    return c.round_up(c.ceil_div(f["k"], c.ceil_div(f["k"], str(tiling.kc))), str(K_UNROLL))


class _UfuncLoop:
    """The inner loop of a ufunc: fills in the context and calls the driver."""

    def __init__(self, c: IRBuilder, name: str, with_bias: bool) -> None:
        self.c, self.name, self.with_bias = c, name, with_bias

    def emit(self) -> None:
        c = self.c
        with c.function(f"void @{self.name}({LOOP_SIGNATURE})"):
            context = gemm_panels.allocate_context(c, FIELDS)
            c.store_context(context, FIELDS, {})
            self.copy_arguments(context)
            batch = c.load_word("%dims")
            runs_here = self.is_rejected(context, batch) if self.name == "async_product" else "true"
            with c.if_then(runs_here):
                c.e.line(f"call void @gemm(ptr {context}, i64 {batch})")

    def is_rejected(self, context: str, batch: str) -> str:
        """Submit the product as an asynchronous job; whether the queue rejects it."""
        c = self.c
        c.update_context(context, FIELDS, {"single_threaded": "1"})
        c.e.declare("i1 @clew_submit_job(ptr, ptr, i64, i64)")
        arguments = f"ptr @gemm, ptr {context}, i64 {len(FIELDS)}, i64 {batch}"
        rejected = c.not_(c.e.value(f"call i1 @clew_submit_job({arguments})"))
        c.update_context(context, FIELDS, {"single_threaded": "0"})
        return rejected

    def copy_arguments(self, context: str) -> None:
        """Copy NumPy's pointers, sizes and strides; without a bias there are none for it."""
        c, names = self.c, [name.lstrip("*") for name in ARGUMENTS]
        for source, skipped, first, last in (
            ("%args", 0, "a", "c"),
            ("%dims", 1, "m", "n"),
            ("%steps", 0, "a_batch_stride", "c_col_stride"),
        ):
            begin, end = names.index(first), names.index(last) + 1
            bias_fields = [i for i in range(begin, end) if names[i].startswith("bias")]
            begins = [begin, *(i if self.with_bias else i + 1 for i in bias_fields)]
            for start, stop in zip(begins, [*bias_fields, end], strict=True):
                words = c.gep_i64(source, str(skipped))
                c.memcpy_words(c.gep_i64(context, str(start)), words, stop - start)
                skipped += stop - start


class _Driver:
    """`gemm(context, batch)`: decides what is packed, cuts the work into tasks, and runs them."""

    def __init__(self, c: IRBuilder, tiling: Tiling) -> None:
        self.c, self.tiling = c, tiling

    def emit(self) -> None:
        c = self.c
        with c.function("void @gemm(ptr %context, i64 %batch)"):
            f = c.load_context(*ARGUMENTS)
            size = c.mul("%batch", f["m"], f["n"])
            with c.if_then(c.and_(c.icmp("eq", f["k"], "0"), c.icmp("eq", f["accumulate"], "0"))):
                self.fill(f)
            with c.if_then(c.icmp("sgt", c.mul(size, f["k"]), "0")):
                self.multiply(f)

    def fill(self, f: dict[str, str]) -> None:
        """An empty sum (k = 0): zeros, or the bias."""
        c = self.c
        has_bias = c.e.value(f"icmp ne ptr {f['bias']}, null")
        with c.loop("0", "%batch") as batch, c.loop("0", f["m"]) as row:
            start = c.ptr_add(
                f["c"], c.add(c.mul(batch, f["c_batch_stride"]), c.mul(row, f["c_row_stride"]))
            )
            with c.loop("0", f["n"]) as column:
                place = c.ptr_add(start, c.mul(column, f["c_col_stride"]))
                c.store("0.0", place)
                with c.if_then(has_bias):
                    offset = c.add(
                        c.mul(batch, f["bias_batch_stride"]), c.mul(column, f["bias_col_stride"])
                    )
                    c.store(c.load(c.ptr_add(f["bias"], offset)), place)

    def multiply(self, f: dict[str, str]) -> None:
        c = self.c
        item = str(c.itemsize)
        is_transposed = c.and_(
            c.icmp("eq", f["c_row_stride"], item), c.icmp("ne", f["c_col_stride"], item)
        )
        chosen: dict[str, str] = {}
        for one, other in TRANSPOSED_PAIRS:
            kind = "ptr" if one == "a" else "i64"
            chosen[one] = c.select(is_transposed, f[other], f[one], kind)
            chosen[other] = c.select(is_transposed, f[one], f[other], kind)
        chosen |= {"k": f["k"], "single_threaded": f["single_threaded"]}
        self.plan(chosen)
        c.update_context("%context", FIELDS, chosen)
        self.run_tasks(chosen)

    def plan(self, f: dict[str, str]) -> None:
        """Decide what is packed, and the size of the tasks."""
        c, tiling = self.c, self.tiling
        f["pack_b"] = c.select(reads_b_in_place(c, tiling, f), "0", "1")
        f["pack_a"] = should_pack_a(c, f)
        work = c.mul(f["m"], f["n"], f["k"])
        c.e.declare("i64 @clew_threads()")
        f["threads"] = c.e.value("call i64 @clew_threads()")
        most = c.max(str(MAX_TASKS), c.mul(f["threads"], str(MAX_TASKS_OF_THREAD)))
        wanted = c.min(c.udiv(work, str(GRAIN)), c.udiv(most, "%batch"))
        wanted = c.max(wanted, "1")
        across, down = self.task_grid(f, wanted)
        f["task_columns"] = c.round_up(c.ceil_div(f["n"], across), str(tiling.columns))
        f["n_tasks"] = c.ceil_div(f["n"], f["task_columns"])
        f["task_rows"] = c.round_up(c.ceil_div(f["m"], down), str(tiling.heights[0]))
        f["m_tasks"] = c.ceil_div(f["m"], f["task_rows"])
        f["kc"] = block_depth(c, tiling, f)

    def task_grid(self, f: dict[str, str], wanted: str) -> tuple[str, str]:
        """How many tasks there should be across and down.

        What one task packs is of no use to those beside it. So tasks are wide, and tall if there
        are many rows, unless that leaves some threads without work.
        """
        c = self.c
        few_tasks = c.min(wanted, c.max(str(MIN_TASKS), f["threads"]))
        flat = c.icmp("sle", f["m"], str(2 * MIN_TASK_ROWS))
        widest = c.ceil_div(f["n"], str(MAX_TASK_COLUMNS))
        down = c.min(c.ceil_div(wanted, widest), c.udiv(f["m"], str(MIN_TASK_ROWS)))
        down = c.select(flat, "1", c.max(down, "1"))
        narrowest = c.ceil_div(f["n"], str(2 * self.tiling.columns))
        across = c.max(widest, c.min(narrowest, c.ceil_div(few_tasks, down)))
        panels = c.ceil_div(f["n"], str(self.tiling.columns))
        most = c.select(c.icmp("ne", f["pack_a"], "0"), str(MIN_TASKS // 2), panels)
        across = c.select(flat, c.max(widest, c.min(wanted, most)), across)
        has_many_threads = c.icmp("sgt", f["threads"], str(MIN_TASKS))
        least = c.select(has_many_threads, str(MIN_TASK_ROWS // 4), str(MIN_TASK_ROWS // 2))
        lowest = c.udiv(f["m"], least)
        down = c.max(down, c.min(lowest, c.udiv(few_tasks, across)))
        # As many tasks for one thread as for another, if there are more tasks than threads.
        rounds = c.udiv(c.mul(across, down), f["threads"])
        even = c.udiv(c.mul(rounds, f["threads"]), across)
        return across, c.select(c.icmp("sgt", even, "0"), even, down)

    def run_tasks(self, f: dict[str, str]) -> None:
        c = self.c
        each = c.mul(f["m_tasks"], f["n_tasks"])
        total = c.mul("%batch", each)
        work = c.udiv(c.mul(f["m"], f["n"], f["k"]), each)
        grain = c.max(c.udiv(str(GRAIN), c.max(work, "1")), "1")
        several = c.icmp("sgt", f["m_tasks"], "1")
        one = c.icmp("eq", "%batch", "1")
        shares = c.and_(c.and_(several, one), c.icmp("ne", f["pack_b"], "0"))
        with c.if_then(shares):
            panels = c.ceil_div(f["n"], str(self.tiling.columns))
            width = c.mul(panels, str(self.tiling.columns))
            shared_b = c.malloc(c.mul(f["k"], width))
            c.update_context("%context", FIELDS, {"shared_b": shared_b})
            blocks = c.mul(panels, c.ceil_div(f["k"], f["kc"]))
            self.parallel_for(f, "pack_all", blocks, "2")
            self.parallel_for(f, "body", total, grain)
            c.free(shared_b)
        with c.if_then(c.not_(shares)):
            self.parallel_for(f, "body", total, grain)

    def parallel_for(self, f: dict[str, str], function: str, total: str, grain: str) -> None:
        """Run a function on the thread pool, over all tasks."""
        c = self.c
        grain = c.select(c.icmp("ne", f["single_threaded"], "0"), total, grain)
        given = f"ptr @{function}, ptr %context, i64 {total}, i64 {grain}"
        c.e.line(f"call void @clew_parallel_for({given})")


# The tables of microkernels, by their symbols: they live as long as the process.
_tables: dict[str, LazyTable] = {}


def _make_table(symbol: str, tiling: Tiling) -> LazyTable:
    tiles = [
        LazyFunction(tile.name, partial(microkernel_module, tiling, tile)) if tile else None
        for tile in tiling.tiles
    ]
    helpers = [
        LazyFunction(name, partial(helper_module, tiling, name))
        for name in microkernel_table.HELPERS
    ]
    return LazyTable(jit.machine(), symbol, [*tiles, *helpers])


@functools.cache
def functions(llvm: str) -> dict[str, int]:
    """The addresses of the compiled functions, by their names."""
    machine, tiling = jit.machine(), Tiling(vector_bytes(), llvm)
    symbol = microkernel_table.table_symbol(tiling)
    table = _tables.get(symbol) or _tables.setdefault(symbol, _make_table(symbol, tiling))
    machine.define_symbol(symbol, table.address)
    return machine.functions(f"gemm {symbol}", lambda: gemm_module(llvm), *UFUNCS, *EXPORTED)
