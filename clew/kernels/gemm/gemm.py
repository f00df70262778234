"""GEMM as a generalized ufunc: any strides, batches, threads, and a row to add.

The result is made of tiles (microkernels.py) over blocks of k that stay in the cache. Columns of
the second factor become vectors: they are read where they are if they lie side by side and are used
seldom, and are packed otherwise. Where the result lies column by column in memory, the transposed
product is made.

Every number of the result is a sum in the order of k, in blocks of one size, whatever the number
of threads and the way in which the work is cut.
"""

from __future__ import annotations

import functools
from functools import partial

from clew.kernels.codegen.builder import IRBuilder
from clew.kernels.codegen.emitter import Emitter
from clew.kernels.codegen.ir import F32, F64
from clew.kernels.codegen.loops import LOOP_SIGNATURE, end_module
from clew.kernels.codegen.ufunc import Kernel
from clew.kernels.gemm import gemm_panels, microkernel_table, packing
from clew.kernels.gemm.blocking import FIELDS, GIVEN, Part, body, shared_packing
from clew.kernels.gemm.microkernels import K_TOGETHER, Shape, Tile, tile_function
from clew.kernels.runtime import jit
from clew.kernels.runtime.cpu import vector_bytes
from clew.kernels.runtime.lazy_compilation import Function, OnDemand
from clew.kernels.runtime.optimization_levels import QUICK

# Columns that are packed at a time.
MOST_COLUMNS = 512
# Multiplications that are worth a piece of work of their own.
GRAIN = 1 << 20
# Pieces that all products of a call are cut into at most: each packs its columns anew.
MOST_PIECES = 32
# Pieces that there should be at least, so that all threads have work.
FEWEST_PIECES = 8
# Columns that are used by so few rows are not packed.
FEW_ROWS = 48
# Rows that lie side by side are packed if there are at least so many columns.
MANY_COLUMNS = 256
# The bytes of a page.
PAGE = 4096
# Results with more rows than this are cut into pieces of rows as well.
MANY_ROWS = 96


# The transposed product has the factors, rows and columns the other way round.
TURNED_PAIRS = (
    ("a", "b"), ("a_row", "b_col"), ("a_step", "b_step"), ("a_next", "b_next"),
    ("c_row", "c_col"), ("m", "n"), ("added_row", "added_col"),
)  # fmt: skip
# The ufuncs, and whether they add a row. A late product may be made after the call has returned.
ENTRIES = {"product": False, "affine": True, "late_product": False}
# What is of use for products inside of other kernels (inline_gemm.py).
SHARED = ("run", "panel", "pack_all")


def tile_module(shape: Shape, tile: Tile) -> str:
    """The module of one kind of tiles."""
    e = Emitter()
    tile_function(e, shape, tile)
    end_module(e)
    return e.text()


# How the functions around tiles are written, by their names.
AROUND_TILES = {
    "copy": gemm_panels.copy, "spread": gemm_panels.spread, "pack_a": packing.pack_a,
    "beside": packing.beside, "turn": packing.turn, "gather": packing.gather,
}  # fmt: skip


def around_module(shape: Shape, name: str) -> str:
    """The module of one of the functions around tiles."""
    c = IRBuilder(Emitter(), shape.llvm)
    with c.function(microkernel_table.head(name)):
        AROUND_TILES[name](c, shape)
    end_module(c.e)
    return c.e.text()


def product_module(llvm: str) -> str:
    """The module of the ufuncs' loops, and of what they run once."""
    e, shape = Emitter(), Shape(vector_bytes(), llvm)
    c = IRBuilder(e, llvm, QUICK)
    e.declare("void @clew_run(ptr, ptr, i64, i64)")
    packing.pack_b(c, shape)
    gemm_panels.Panel(c, shape).emit()
    Part(c, shape).emit()
    shared_packing(c, shape)
    body(c)
    _Run(c, shape).emit()
    for name, with_row in ENTRIES.items():
        _Entry(c, name, with_row).emit()
    end_module(e)
    return e.text()


def is_readable(c: IRBuilder, shape: Shape, f: dict[str, str]) -> str:
    """Whether columns are read where they are: in whole vectors, for few rows or from a panel."""
    side_by_side = c.icmp("eq", f["b_col"], str(c.itemsize))
    whole = c.icmp("eq", c.urem(f["n"], str(shape.lanes)), "0")
    few = c.icmp("sle", f["m"], str(FEW_ROWS))
    is_panel = c.and_(
        c.icmp("eq", f["b_step"], str(shape.columns * c.itemsize)),
        c.icmp("eq", f["n"], str(shape.columns)),
    )
    return c.and_(c.and_(side_by_side, whole), c.or_(few, is_panel))


def packs_rows(c: IRBuilder, f: dict[str, str]) -> str:
    """Whether rows that lie side by side are packed: if many columns need them."""
    turned = c.and_(
        c.icmp("eq", f["a_row"], str(c.itemsize)), c.icmp("ne", f["a_step"], str(c.itemsize))
    )
    # Numbers at the same place of their pages push each other out of the cache.
    crowded = c.icmp("eq", c.urem(f["a_step"], str(PAGE)), "0")
    fewest = c.select(crowded, str(MANY_COLUMNS // 4), str(MANY_COLUMNS))
    return c.select(c.and_(turned, c.icmp("sge", f["n"], fewest)), "1", "0")


def depth_of_blocks(c: IRBuilder, shape: Shape, f: dict[str, str]) -> str:
    """Equal blocks of k, but for the last."""
    return c.round_up(c.ceil_div(f["k"], c.ceil_div(f["k"], str(shape.k_block))), str(K_TOGETHER))


class _Entry:
    """The loop of a ufunc."""

    def __init__(self, c: IRBuilder, name: str, with_row: bool) -> None:
        self.c, self.name, self.with_row = c, name, with_row

    def emit(self) -> None:
        c = self.c
        with c.function(f"void @{self.name}({LOOP_SIGNATURE})"):
            context = c.e.value(f"alloca i64, i64 {len(FIELDS)}, align 8")
            c.store_context(context, FIELDS, {})
            self.copy_given(context)
            batch = c.load_word("%dims")
            nobody_else = self.is_refused(context, batch) if self.name == "late_product" else "true"
            with c.if_then(nobody_else):
                c.e.line(f"call void @run(ptr {context}, i64 {batch})")

    def is_refused(self, context: str, batch: str) -> str:
        """Leave it to the workers; whether they cannot take it."""
        c = self.c
        c.update_context(context, FIELDS, {"alone": "1"})
        c.e.declare("i1 @clew_later(ptr, ptr, i64, i64)")
        told = f"ptr @run, ptr {context}, i64 {len(FIELDS)}, i64 {batch}"
        refused = c.not_(c.e.value(f"call i1 @clew_later({told})"))
        c.update_context(context, FIELDS, {"alone": "0"})
        return refused

    def copy_given(self, context: str) -> None:
        """What NumPy says, which has nothing of a row where none is added."""
        c, names = self.c, [name.lstrip("*") for name in GIVEN]
        for source, skipped, first, last in (
            ("%args", 0, "a", "c"), ("%dims", 1, "m", "n"), ("%steps", 0, "a_next", "c_col")
        ):  # fmt: skip
            begin, end = names.index(first), names.index(last) + 1
            rows = [i for i in range(begin, end) if names[i].startswith("added")]
            begins = [begin, *(row if self.with_row else row + 1 for row in rows)]
            for start, stop in zip(begins, [*rows, end], strict=True):
                words = c.gep_i64(source, str(skipped))
                c.memcpy_words(c.gep_i64(context, str(start)), words, stop - start)
                skipped += stop - start


class _Run:
    """`run(context, batch)`: decides how the work is done and hands it out."""

    def __init__(self, c: IRBuilder, shape: Shape) -> None:
        self.c, self.shape = c, shape

    def emit(self) -> None:
        c = self.c
        with c.function("void @run(ptr %context, i64 %batch)"):
            f = c.load_context(*GIVEN)
            size = c.mul("%batch", f["m"], f["n"])
            with c.if_then(c.and_(c.icmp("eq", f["k"], "0"), c.icmp("eq", f["more"], "0"))):
                self.fill(f)
            with c.if_then(c.icmp("sgt", c.mul(size, f["k"]), "0")):
                self.multiply(f)

    def fill(self, f: dict[str, str]) -> None:
        """No products at all: zeros, or the row."""
        c = self.c
        has_row = c.e.value(f"icmp ne ptr {f['added']}, null")
        with c.loop("0", "%batch") as batch, c.loop("0", f["m"]) as row:
            start = c.ptr_add(f["c"], c.add(c.mul(batch, f["c_next"]), c.mul(row, f["c_row"])))
            with c.loop("0", f["n"]) as column:
                place = c.ptr_add(start, c.mul(column, f["c_col"]))
                c.store("0.0", place)
                with c.if_then(has_row):
                    offset = c.add(c.mul(batch, f["added_next"]), c.mul(column, f["added_col"]))
                    c.store(c.load(c.ptr_add(f["added"], offset)), place)

    def multiply(self, f: dict[str, str]) -> None:
        c = self.c
        item = str(c.itemsize)
        turned = c.and_(c.icmp("eq", f["c_row"], item), c.icmp("ne", f["c_col"], item))
        chosen: dict[str, str] = {}
        for one, other in TURNED_PAIRS:
            kind = "ptr" if one == "a" else "i64"
            chosen[one] = c.select(turned, f[other], f[one], kind)
            chosen[other] = c.select(turned, f[one], f[other], kind)
        chosen |= {"k": f["k"], "alone": f["alone"]}
        self.plan(chosen)
        c.update_context("%context", FIELDS, chosen)
        self.hand_out(chosen)

    def plan(self, f: dict[str, str]) -> None:
        """What is packed, and into which pieces the work is cut."""
        c, shape = self.c, self.shape
        f["pack_b"] = c.select(is_readable(c, shape, f), "0", "1")
        f["pack_a"] = packs_rows(c, f)
        work = c.mul(f["m"], f["n"], f["k"])
        wanted = c.min(c.udiv(work, str(GRAIN)), c.udiv(str(MOST_PIECES), "%batch"))
        wanted = c.max(wanted, "1")
        across, down = self.pieces(f, wanted)
        f["n_cut"] = c.round_up(c.ceil_div(f["n"], across), str(shape.columns))
        f["n_pieces"] = c.ceil_div(f["n"], f["n_cut"])
        f["m_cut"] = c.round_up(c.ceil_div(f["m"], down), str(shape.heights[0]))
        f["m_pieces"] = c.ceil_div(f["m"], f["m_cut"])
        f["k_cut"] = depth_of_blocks(c, shape, f)

    def pieces(self, f: dict[str, str], wanted: str) -> tuple[str, str]:
        """How many pieces there should be across and down.

        What is packed in one piece is of no use to others beside it. So pieces are wide, and tall
        if there are many rows, unless that leaves some threads without work.
        """
        c = self.c
        few = c.min(wanted, str(FEWEST_PIECES))
        flat = c.icmp("sle", f["m"], str(2 * MANY_ROWS))
        widest = c.ceil_div(f["n"], str(MOST_COLUMNS))
        down = c.min(c.ceil_div(wanted, widest), c.udiv(f["m"], str(MANY_ROWS)))
        down = c.select(flat, "1", c.max(down, "1"))
        narrowest = c.ceil_div(f["n"], str(2 * self.shape.columns))
        across = c.max(widest, c.min(narrowest, c.ceil_div(few, down)))
        panels = c.ceil_div(f["n"], str(self.shape.columns))
        most = c.select(c.icmp("ne", f["pack_a"], "0"), str(FEWEST_PIECES // 2), panels)
        across = c.select(flat, c.max(widest, c.min(wanted, most)), across)
        lowest = c.udiv(f["m"], str(MANY_ROWS // 2))
        down = c.max(down, c.min(lowest, c.udiv(few, across)))
        return across, down

    def hand_out(self, f: dict[str, str]) -> None:
        c = self.c
        each = c.mul(f["m_pieces"], f["n_pieces"])
        total = c.mul("%batch", each)
        work = c.udiv(c.mul(f["m"], f["n"], f["k"]), each)
        grain = c.max(c.udiv(str(GRAIN), c.max(work, "1")), "1")
        several = c.icmp("sgt", f["m_pieces"], "1")
        one = c.icmp("eq", "%batch", "1")
        shares = c.and_(c.and_(several, one), c.icmp("ne", f["pack_b"], "0"))
        with c.if_then(shares):
            panels = c.ceil_div(f["n"], str(self.shape.columns))
            wide = c.mul(panels, str(self.shape.columns))
            shared = c.malloc(c.mul(f["k"], wide))
            c.update_context("%context", FIELDS, {"shared": shared})
            blocks = c.mul(panels, c.ceil_div(f["k"], f["k_cut"]))
            self.run_over(f, "pack_all", blocks, "2")
            self.run_over(f, "body", total, grain)
            c.free(shared)
        with c.if_then(c.not_(shares)):
            self.run_over(f, "body", total, grain)

    def run_over(self, f: dict[str, str], function: str, total: str, grain: str) -> None:
        """Have the team run a function over pieces."""
        c = self.c
        grain = c.select(c.icmp("ne", f["alone"], "0"), total, grain)
        given = f"ptr @{function}, ptr %context, i64 {total}, i64 {grain}"
        c.e.line(f"call void @clew_run({given})")


class Product(Kernel):
    """A ufunc of matrix products; with a row, it is added to every row of the result."""

    def __init__(self, name: str) -> None:
        inputs = 3 if ENTRIES[name] else 2
        core = "(m,k),(k,n),(n)->(m,n)" if ENTRIES[name] else "(m,k),(k,n)->(m,n)"
        super().__init__(name, product_module, [([t] * inputs, [t]) for t in (F32, F64)], core)

    def compile(self, index: int) -> int:
        return functions(("float", "double")[index])[self.name]


@functools.cache
def _table(register_bytes: int, llvm: str) -> OnDemand:
    shape = Shape(register_bytes, llvm)
    tiles = [
        Function(tile.name, partial(tile_module, shape, tile)) if tile else None
        for tile in shape.tiles
    ]
    around = [
        Function(name, partial(around_module, shape, name)) for name in microkernel_table.AROUND
    ]
    return OnDemand(jit.machine(), f"of products {llvm} {register_bytes}", [*tiles, *around])


@functools.cache
def functions(llvm: str) -> dict[str, int]:
    """The addresses of the compiled functions, by their names."""
    machine, register_bytes = jit.machine(), vector_bytes()
    name = microkernel_table.table(Shape(register_bytes, llvm))
    machine.provide(name, _table(register_bytes, llvm).address)
    key = f"product {llvm} {register_bytes}"
    return machine.functions(key, lambda: product_module(llvm), *ENTRIES, *SHARED)
