"""Cache blocking of GEMM: blocks of k after another, and what is packed for each.

What is here runs once for many tiles: little time is spent on compiling it.
"""

from __future__ import annotations

from clew.kernels.codegen.builder import IRBuilder
from clew.kernels.gemm import gemm_panels
from clew.kernels.gemm.microkernel_table import call
from clew.kernels.gemm.microkernels import Shape
from clew.kernels.gemm.packing import call_pack_b

# Rows whose numbers stay in the second-level cache.
ROW_BLOCK = 192

# What a product is told; all distances in bytes. `added_row` and `added_col` are of the row that
# is added; `alone` says that one thread does it all. NumPy says most of it, in this order.
GIVEN = (
    "*a", "*b", "*added", "*c", "m", "k", "n", "a_next", "b_next", "added_next", "c_next",
    "a_row", "a_step", "b_step", "b_col", "added_col", "c_row", "c_col",
    "added_row", "more", "alone",
)  # fmt: skip
# Its parts are told, too, how it is made.
FIELDS = (
    *GIVEN, "pack_a", "pack_b", "*shared", "k_cut", "m_cut", "n_cut", "m_pieces", "n_pieces",
)  # fmt: skip


class Part:
    """`part(context, batch, m piece, n piece)`: one rectangle of one product."""

    def __init__(self, c: IRBuilder, shape: Shape) -> None:
        self.c, self.shape = c, shape

    def emit(self) -> None:
        c, shape = self.c, self.shape
        head = "internal void @part(ptr %context, i64 %batch, i64 %m_piece, i64 %n_piece)"
        with c.function(head):
            f = {
                "tile": c.e.value(
                    f"alloca [{shape.heights[0] * shape.columns} x {c.llvm}], align 64"
                ),
                "start": c.e.value(f"alloca [{shape.columns} x {c.llvm}], align 64"),
                "told": c.e.value(f"alloca i64, i64 {len(gemm_panels.FIELDS)}, align 8"),
            }
            self.f = f = {**f, **c.load_context(*FIELDS)}
            for name in ("a", "b", "c"):
                f[name] = c.ptr_add(f[name], c.mul("%batch", f[f"{name}_next"]))
            f["has_row"] = c.e.value(f"icmp ne ptr {f['added']}, null")
            f["added"] = c.ptr_add(f["added"], c.mul("%batch", f["added_next"]))
            self.bounds()
            wide = c.round_up(c.sub(f["right"], f["left"]), str(shape.columns))
            f["packs_a"] = c.icmp("ne", f["pack_a"], "0")
            f["packs_b"] = c.icmp("ne", f["pack_b"], "0")
            f["packed_a"] = self.memory_if(f["packs_a"], c.mul(f["k_cut"], str(ROW_BLOCK)))
            f["packed_b"] = self.memory_if(f["packs_b"], c.mul(f["k_cut"], wide))
            f["is_apart"], f["wide"] = c.icmp("ne", f["c_col"], str(c.itemsize)), wide
            size = c.mul(c.sub(f["bottom"], f["top"]), wide)
            f["apart"] = self.memory_if(f["is_apart"], size)
            with c.loop("0", f["k"], by=f["k_cut"]) as k:
                self.block(k)
            with c.if_then(f["is_apart"]):
                self.move_all()
            c.free(f["packed_a"])
            c.free(f["packed_b"])
            c.free(f["apart"])

    def memory_if(self, condition: str, size: str) -> str:
        """A buffer, which is tiny if it is not needed."""
        return self.c.malloc(self.c.select(condition, size, "1"))

    def bounds(self) -> None:
        c, f = self.c, self.f
        f["top"] = c.mul("%m_piece", f["m_cut"])
        f["bottom"] = c.min(f["m"], c.add(f["top"], f["m_cut"]))
        f["left"] = c.mul("%n_piece", f["n_cut"])
        f["right"] = c.min(f["n"], c.add(f["left"], f["n_cut"]))

    def block(self, k: str) -> None:
        """All tiles, for one block of k."""
        c, f = self.c, self.f
        f["depth"] = c.min(f["k_cut"], c.sub(f["k"], k))
        f["is_first"] = c.icmp("eq", k, "0")
        f["adds"] = c.select(f["is_first"], f["more"], "1")
        b = c.ptr_add(f["b"], c.add(c.mul(k, f["b_step"]), c.mul(f["left"], f["b_col"])))
        packs = f["packs_b"]
        is_shared = c.e.value(f"icmp ne ptr {f['shared']}, null")
        with c.if_then(c.and_(packs, c.not_(is_shared))):
            arguments = (
                f"ptr {b}, i64 {f['b_step']}, i64 {f['b_col']}, "
                f"i64 {f['depth']}, i64 {c.sub(f['right'], f['left'])}, ptr {f['packed_b']}"
            )
            call_pack_b(c, arguments)
        whole_width = c.round_up(f["n"], str(self.shape.columns))
        offset = c.add(c.mul(k, whole_width), c.mul(f["left"], f["depth"]))
        packed = c.select(is_shared, c.gep(f["shared"], offset), f["packed_b"], "ptr")
        f["b_from"] = c.select(packs, packed, b, "ptr")
        f["b_panel"] = c.select(packs, c.mul(f["depth"], str(c.itemsize)), str(c.itemsize))
        f["b_down"] = c.select(packs, str(self.shape.columns * c.itemsize), f["b_step"])
        with c.loop(f["top"], f["bottom"], by=ROW_BLOCK) as top:
            rows = c.min(str(ROW_BLOCK), c.sub(f["bottom"], top))
            a = c.ptr_add(f["a"], c.add(c.mul(top, f["a_row"]), c.mul(k, f["a_step"])))
            with c.if_then(f["packs_a"]):
                arguments = (
                    f"ptr {a}, i64 {f['a_step']}, i64 {f['depth']}, i64 {rows}, ptr {f['packed_a']}"
                )
                call(c, self.shape, "pack_a", arguments)
            f["a_from"] = a
            told = self.told()
            c.store_context(f["told"], gemm_panels.FIELDS, told)
            with c.loop(f["left"], f["right"], by=self.shape.columns) as left:
                place = f"i64 {top}, i64 {rows}, i64 {left}"
                gemm_panels.call_panel(c, f["told"], place)

    def told(self) -> dict[str, str]:
        """What panels are told. A part that is made beside the result has rows of its own."""
        c, f = self.c, self.f
        told = dict(f)
        apart, item = f["is_apart"], str(c.itemsize)
        # As if it began at the result's first row and column.
        start = c.mul(c.add(c.mul(f["top"], f["wide"]), f["left"]), f"-{item}")
        told["c"] = c.select(apart, c.ptr_add(f["apart"], start), f["c"], "ptr")
        told["c_row"] = c.select(apart, c.mul(f["wide"], item), f["c_row"])
        told["adds"] = c.select(c.and_(apart, f["is_first"]), "0", f["adds"])
        told["has_room"] = apart
        for name in gemm_panels.TRUTHS:
            told[name] = c.select(told[name], "1", "0")
        return told

    def move_all(self) -> None:
        """The whole part to its place, when it is ready."""
        c, f, shape = self.c, self.f, self.shape
        across = c.and_(f["has_row"], c.icmp("ne", f["added_row"], "0"))
        place = c.ptr_add(f["c"], c.add(c.mul(f["top"], f["c_row"]), c.mul(f["left"], f["c_col"])))
        extra = c.ptr_add(f["added"], c.mul(f["top"], f["added_row"]))
        extra = c.select(across, extra, "null", "ptr")
        source = f"ptr {f['apart']}, i64 {f['wide']}"
        target = f"ptr {place}, i64 {f['c_row']}, i64 {f['c_col']}"
        size = f"i64 {c.sub(f['bottom'], f['top'])}, i64 {c.sub(f['right'], f['left'])}"
        added = f"i64 {f['more']}, ptr {extra}, i64 {f['added_row']}"
        call(c, shape, "spread", f"{source}, {target}, {size}, {added}")


def shared_packing(c: IRBuilder, shape: Shape) -> None:
    """`pack_all`: panels of all blocks of k, for several pieces to use; run by the team, too."""
    with c.function("void @pack_all(ptr %context, i64 %begin, i64 %end)"):
        needed = ("b", "b_step", "b_col", "n", "k", "shared", "k_cut")
        f = c.load_context(*FIELDS, only=needed)
        panels = c.ceil_div(f["n"], str(shape.columns))
        whole_width = c.mul(panels, str(shape.columns))
        with c.loop("%begin", "%end") as piece:
            k = c.mul(c.udiv(piece, panels), f["k_cut"])
            left = c.mul(c.urem(piece, panels), str(shape.columns))
            depth = c.min(f["k_cut"], c.sub(f["k"], k))
            b = c.ptr_add(f["b"], c.add(c.mul(k, f["b_step"]), c.mul(left, f["b_col"])))
            to = c.gep(f["shared"], c.add(c.mul(k, whole_width), c.mul(left, depth)))
            count = c.min(str(shape.columns), c.sub(f["n"], left))
            arguments = (
                f"ptr {b}, i64 {f['b_step']}, i64 {f['b_col']}, i64 {depth}, i64 {count}, ptr {to}"
            )
            call_pack_b(c, arguments)


def body(c: IRBuilder) -> None:
    """What the team runs: pieces of all products, lane_indices."""
    with c.function("internal void @body(ptr %context, i64 %begin, i64 %end)"):
        f = c.load_context(*FIELDS, only=("m_pieces", "n_pieces"))
        each = c.mul(f["m_pieces"], f["n_pieces"])
        with c.loop("%begin", "%end") as piece:
            batch, within = c.udiv(piece, each), c.urem(piece, each)
            m, n = c.udiv(within, f["n_pieces"]), c.urem(within, f["n_pieces"])
            c.e.line(f"call void @part(ptr %context, i64 {batch}, i64 {m}, i64 {n})")
