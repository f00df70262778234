"""Cache blocking of GEMM: the macro-kernel, which loops over blocks of k and packs each.

All of it runs once for many tiles, so it is compiled at -O0. MC and kc are what BLIS calls so.
"""

from __future__ import annotations

from clew.kernels.codegen.builder import IRBuilder
from clew.kernels.gemm import gemm_panels
from clew.kernels.gemm.microkernel_table import call_helper
from clew.kernels.gemm.microkernels import Tiling
from clew.kernels.gemm.packing import call_pack_b

# Rows of a block of `a`, which stays in the second-level cache.
MC = 192

# The arguments of a product, most of them from NumPy in this order; all strides in bytes. With
# `accumulate` the product is added to `c`. `single_threaded`: the thread pool is not used.
ARGUMENTS = (
    "*a", "*b", "*bias", "*c", "m", "k", "n",
    "a_batch_stride", "b_batch_stride", "bias_batch_stride", "c_batch_stride",
    "a_row_stride", "a_k_stride", "b_k_stride", "b_col_stride", "bias_col_stride",
    "c_row_stride", "c_col_stride", "bias_row_stride", "accumulate", "single_threaded",
)  # fmt: skip
# The context of its tasks has how it is packed and cut, too.
FIELDS = (
    *ARGUMENTS, "pack_a", "pack_b", "*shared_b", "kc",
    "task_rows", "task_columns", "m_tasks", "n_tasks",
)  # fmt: skip


class MacroKernel:
    """`macrokernel(context, batch, m_task, n_task)`: one rectangle of one product."""

    def __init__(self, c: IRBuilder, tiling: Tiling) -> None:
        self.c, self.tiling = c, tiling

    def emit(self) -> None:
        c, tiling = self.c, self.tiling
        head = "internal void @macrokernel(ptr %context, i64 %batch, i64 %m_task, i64 %n_task)"
        with c.function(head):
            f = {
                "scratch_tile": c.e.value(
                    f"alloca [{tiling.heights[0] * tiling.columns} x {c.llvm}], align 64"
                ),
                "initial": c.e.value(f"alloca [{tiling.columns} x {c.llvm}], align 64"),
                "panel_context": gemm_panels.allocate_context(c, gemm_panels.FIELDS),
            }
            self.f = f = {**f, **c.load_context(*FIELDS)}
            for name in ("a", "b", "c"):
                f[name] = c.ptr_add(f[name], c.mul("%batch", f[f"{name}_batch_stride"]))
            f["has_bias"] = c.e.value(f"icmp ne ptr {f['bias']}, null")
            f["bias"] = c.ptr_add(f["bias"], c.mul("%batch", f["bias_batch_stride"]))
            self.bounds()
            width = c.round_up(c.sub(f["right"], f["left"]), str(tiling.columns))
            f["packs_a"] = c.icmp("ne", f["pack_a"], "0")
            f["packs_b"] = c.icmp("ne", f["pack_b"], "0")
            f["packed_a"] = self.scratch_if(f["packs_a"], c.mul(f["kc"], str(MC)))
            f["packed_b"] = self.scratch_if(f["packs_b"], c.mul(f["kc"], width))
            f["uses_scratch"], f["width"] = c.icmp("ne", f["c_col_stride"], str(c.itemsize)), width
            size = c.mul(c.sub(f["bottom"], f["top"]), width)
            f["scratch"] = self.scratch_if(f["uses_scratch"], size)
            with c.loop("0", f["k"], by=f["kc"]) as k:
                self.block(k)
            with c.if_then(f["uses_scratch"]):
                self.copy_scratch()
            c.free(f["packed_a"])
            c.free(f["packed_b"])
            c.free(f["scratch"])

    def scratch_if(self, condition: str, size: str) -> str:
        """A buffer, of one element if it is not needed."""
        return self.c.malloc(self.c.select(condition, size, "1"))

    def bounds(self) -> None:
        c, f = self.c, self.f
        f["top"] = c.mul("%m_task", f["task_rows"])
        f["bottom"] = c.min(f["m"], c.add(f["top"], f["task_rows"]))
        f["left"] = c.mul("%n_task", f["task_columns"])
        f["right"] = c.min(f["n"], c.add(f["left"], f["task_columns"]))

    def block(self, k: str) -> None:
        """All tiles, for one block of k."""
        c, f = self.c, self.f
        f["depth"] = c.min(f["kc"], c.sub(f["k"], k))
        f["is_first"] = c.icmp("eq", k, "0")
        f["accumulates"] = c.select(f["is_first"], f["accumulate"], "1")
        b = c.ptr_add(f["b"], c.add(c.mul(k, f["b_k_stride"]), c.mul(f["left"], f["b_col_stride"])))
        packs = f["packs_b"]
        shares_b = c.e.value(f"icmp ne ptr {f['shared_b']}, null")
        with c.if_then(c.and_(packs, c.not_(shares_b))):
            arguments = (
                f"ptr {b}, i64 {f['b_k_stride']}, i64 {f['b_col_stride']}, "
                f"i64 {f['depth']}, i64 {c.sub(f['right'], f['left'])}, ptr {f['packed_b']}"
            )
            call_pack_b(c, arguments)
        padded_columns = c.round_up(f["n"], str(self.tiling.columns))
        offset = c.add(c.mul(k, padded_columns), c.mul(f["left"], f["depth"]))
        packed = c.select(shares_b, c.gep(f["shared_b"], offset), f["packed_b"], "ptr")
        f["b_block"] = c.select(packs, packed, b, "ptr")
        f["b_panel_stride"] = c.select(packs, c.mul(f["depth"], str(c.itemsize)), str(c.itemsize))
        f["b_block_k_stride"] = c.select(
            packs, str(self.tiling.columns * c.itemsize), f["b_k_stride"]
        )
        with c.loop(f["top"], f["bottom"], by=MC) as top:
            rows = c.min(str(MC), c.sub(f["bottom"], top))
            a = c.ptr_add(f["a"], c.add(c.mul(top, f["a_row_stride"]), c.mul(k, f["a_k_stride"])))
            with c.if_then(f["packs_a"]):
                arguments = (
                    f"ptr {a}, i64 {f['a_k_stride']}, i64 {f['depth']}, i64 {rows}, "
                    f"ptr {f['packed_a']}"
                )
                call_helper(c, self.tiling, "pack_a", arguments)
            f["a_block"] = a
            fields = self.panel_fields()
            c.store_context(f["panel_context"], gemm_panels.FIELDS, fields)
            with c.loop(f["left"], f["right"], by=self.tiling.columns) as left:
                place = f"i64 {top}, i64 {rows}, i64 {left}"
                gemm_panels.call_panel(c, f["panel_context"], place)

    def panel_fields(self) -> dict[str, str]:
        """The context of panels. A result with strided columns is computed in scratch memory."""
        c, f = self.c, self.f
        fields = dict(f)
        uses_scratch, item = f["uses_scratch"], str(c.itemsize)
        # The address that the result's first row and column would have in it.
        start = c.mul(c.add(c.mul(f["top"], f["width"]), f["left"]), f"-{item}")
        fields["c"] = c.select(uses_scratch, c.ptr_add(f["scratch"], start), f["c"], "ptr")
        fields["c_row_stride"] = c.select(uses_scratch, c.mul(f["width"], item), f["c_row_stride"])
        fields["accumulates"] = c.select(c.and_(uses_scratch, f["is_first"]), "0", f["accumulates"])
        fields["is_padded"] = uses_scratch
        for name in gemm_panels.FLAGS:
            fields[name] = c.select(fields[name], "1", "0")
        return fields

    def copy_scratch(self) -> None:
        """Copy the finished rectangle from scratch memory to the result."""
        c, f, tiling = self.c, self.f, self.tiling
        bias_runs_down = c.and_(f["has_bias"], c.icmp("ne", f["bias_row_stride"], "0"))
        place = c.ptr_add(
            f["c"], c.add(c.mul(f["top"], f["c_row_stride"]), c.mul(f["left"], f["c_col_stride"]))
        )
        bias = c.ptr_add(f["bias"], c.mul(f["top"], f["bias_row_stride"]))
        bias = c.select(bias_runs_down, bias, "null", "ptr")
        scratch_rows = f"ptr {f['scratch']}, i64 {f['width']}"
        target = f"ptr {place}, i64 {f['c_row_stride']}, i64 {f['c_col_stride']}"
        size = f"i64 {c.sub(f['bottom'], f['top'])}, i64 {c.sub(f['right'], f['left'])}"
        epilogue = f"i64 {f['accumulate']}, ptr {bias}, i64 {f['bias_row_stride']}"
        call_helper(c, tiling, "copy_strided", f"{scratch_rows}, {target}, {size}, {epilogue}")


def emit_pack_all(c: IRBuilder, tiling: Tiling) -> None:
    """`pack_all`: panels of all blocks of k, which several tasks share; runs on the thread pool."""
    with c.function("void @pack_all(ptr %context, i64 %begin, i64 %end)"):
        needed = ("b", "b_k_stride", "b_col_stride", "n", "k", "shared_b", "kc")
        f = c.load_context(*FIELDS, only=needed)
        panels = c.ceil_div(f["n"], str(tiling.columns))
        padded_columns = c.mul(panels, str(tiling.columns))
        with c.loop("%begin", "%end") as task:
            k = c.mul(c.udiv(task, panels), f["kc"])
            left = c.mul(c.urem(task, panels), str(tiling.columns))
            depth = c.min(f["kc"], c.sub(f["k"], k))
            b = c.ptr_add(f["b"], c.add(c.mul(k, f["b_k_stride"]), c.mul(left, f["b_col_stride"])))
            to = c.gep(f["shared_b"], c.add(c.mul(k, padded_columns), c.mul(left, depth)))
            count = c.min(str(tiling.columns), c.sub(f["n"], left))
            arguments = (
                f"ptr {b}, i64 {f['b_k_stride']}, i64 {f['b_col_stride']}, "
                f"i64 {depth}, i64 {count}, ptr {to}"
            )
            call_pack_b(c, arguments)


def emit_body(c: IRBuilder) -> None:
    """`body`: a range of the tasks of all products of the batch."""
    with c.function("internal void @body(ptr %context, i64 %begin, i64 %end)"):
        f = c.load_context(*FIELDS, only=("m_tasks", "n_tasks"))
        each = c.mul(f["m_tasks"], f["n_tasks"])
        with c.loop("%begin", "%end") as task:
            batch, within = c.udiv(task, each), c.urem(task, each)
            m, n = c.udiv(within, f["n_tasks"]), c.urem(within, f["n_tasks"])
            c.e.line(f"call void @macrokernel(ptr %context, i64 {batch}, i64 {m}, i64 {n})")
