"""The Mersenne Twister MT19937, compiled: random words, normals and permutations.

The state is an array of 624 words and the number of used ones. It is regenerated as a whole when
all are used; both that and the tempering of words are vectorized.

The functions take array objects and load their data pointers: to read these in Python would take
longer than to draw a few hundred words.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from clew.kernels.codegen.builder import BODY, IRBuilder
from clew.kernels.codegen.contexts import ContextCall, compiled
from clew.kernels.codegen.emitter import Emitter, literal
from clew.kernels.codegen.ir import F32, F64, Program
from clew.kernels.codegen.loops import ElementwiseLoop, end_module, run_tasks
from clew.kernels.codegen.ufunc import Elementwise
from clew.kernels.compiled import c_library
from clew.kernels.compiled.foreach import DATA_OFFSET
from clew.kernels.compiled.rejection_samplers import ARRAYS, sampler_module
from clew.kernels.runtime import jit

Words = npt.NDArray[np.uint32]
Doubles = npt.NDArray[np.float64]

# The generator's parameters, by the names in the paper of Matsumoto and Nishimura.
N, M = 624, 397
UPPER, LOWER, MATRIX = 0x80000000, 0x7FFFFFFF, 0x9908B0DF
LANES = 16
# The bits that a double in [0, 1) takes of its high word.
HIGH_HALF = 2**53 - 2**32
# Normals are made from rows of 16 words; so many rows stay in the first-level cache.
BLOCK, ROWS = 16, 64
_OBJECT, _SIZE, _FLOAT = ctypes.c_void_p, ctypes.c_int64, ctypes.c_float
# The functions and the types of their parameters.
FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "seed": (_OBJECT, _SIZE),
    "words": (_OBJECT, _OBJECT, _SIZE),
    "swap": (_OBJECT, _SIZE),
    "shuffle": (_OBJECT, _OBJECT, _SIZE),
    "singles": (_OBJECT, _OBJECT, _SIZE),
    "scale_singles": (_OBJECT, _SIZE, ctypes.c_double, ctypes.c_double),
    "doubles": (_OBJECT, _OBJECT, _SIZE),
    "gaussians": (_OBJECT, _OBJECT, _SIZE),
    "normals": (_OBJECT, _OBJECT, _SIZE, _FLOAT, _FLOAT),
}
NORMALS = ("*words", "*out", "*mean", "*std")


class _WordBuilder(IRBuilder):
    """A builder of instructions on a word, or on a vector of words."""

    kind = "i32"

    def number(self, value: int) -> str:
        value = value - (1 << 32) if value >= 1 << 31 else value
        lanes = LANES if self.kind != "i32" else 0
        return f"<{', '.join([f'i32 {value}'] * lanes)}>" if lanes else str(value)

    def op(self, how: str, left: str, right: str | int) -> str:
        right = self.number(right) if isinstance(right, int) else right
        return self.e.value(f"{how} {self.kind} {left}, {right}")

    def read(self, base: str, index: str) -> str:
        return self.load(self.gep(base, index), self.kind)

    def write(self, value: str, base: str, index: str) -> None:
        self.store(value, self.gep(base, index), self.kind)

    def elements(self, *arrays: str) -> list[str]:
        """The addresses of the elements of array objects."""
        return [
            self.load_word(self.ptr_add(f"%{array}", str(DATA_OFFSET)), "ptr") for array in arrays
        ]

    def vectorized(self, begin: str, end: str, body: Any) -> None:
        """body(i) over a range of words: in vectors, the remainder in scalars."""
        middle = self.add(begin, self.round_down(self.sub(end, begin), str(LANES)))
        for kind, span, by in (
            (f"<{LANES} x i32>", (begin, middle), LANES), ("i32", (middle, end), 1)
        ):  # fmt: skip
            with self.loop(*span, by=by) as i:
                self.kind = kind
                body(i)
                self.kind = "i32"

    def twisted(self, here: str, after: str, far: str) -> str:
        """The new word from the words i, i + 1 and i + M: the twist of the recurrence."""
        both = self.op("or", self.op("and", here, UPPER), self.op("and", after, LOWER))
        odd = self.op("sub", self.number(0), self.op("and", both, 1))
        mixed = self.op("xor", self.op("lshr", both, 1), self.op("and", odd, MATRIX))
        return self.op("xor", far, mixed)

    def tempered(self, word: str) -> str:
        word = self.op("xor", word, self.op("lshr", word, 11))
        word = self.op("xor", word, self.op("and", self.op("shl", word, 7), 0x9D2C5680))
        word = self.op("xor", word, self.op("and", self.op("shl", word, 15), 0xEFC60000))
        return self.op("xor", word, self.op("lshr", word, 18))


def words_module() -> str:
    """The LLVM module of all functions but `normals`."""
    # Words are as long as floats.
    c = _WordBuilder(Emitter(), "float")
    for write in (
        _regenerate, _draw, _words, _seed, _exchange, _swap, _shuffle, _singles, _scale_singles,
        _as_doubles, _doubles, _gaussians,
    ):  # fmt: skip
        write(c)
    end_module(c.e)
    return c.e.text()


def draws_module() -> str:
    """The LLVM module of `draws`, which takes a context: the state, and where words go."""
    c = _WordBuilder(Emitter(), "float")
    for write in (_regenerate, _draw, _exchange, _draws):
        write(c)
    end_module(c.e)
    return c.e.text()


def draws(count: int, in_pairs: bool) -> ContextCall:
    """The call that draws words; or words of 64 bits, each from two words, the high half first."""
    return ContextCall(compiled("random draws", draws_module, "draws"), (), (count, in_pairs))


def normals_module(formula: Program) -> str:
    """The LLVM module of `normals`; the formula (Box-Muller) makes two normals from a word for the
    radius, a word for the angle, the mean and the standard deviation."""
    c = _WordBuilder(Emitter(), "float")
    _normals(c, formula)
    _start_normals(c)
    end_module(c.e, "normals_in_context")
    return c.e.text()


def _regenerate(c: _WordBuilder) -> None:
    with c.function("internal void @regenerate(ptr %state)"):

        def from_ahead(i: str) -> None:
            after, far = c.read("%state", c.add(i, "1")), c.read("%state", c.add(i, str(M)))
            c.write(c.twisted(c.read("%state", i), after, far), "%state", i)

        def from_behind(i: str) -> None:
            after, far = c.read("%state", c.add(i, "1")), c.read("%state", c.sub(i, str(N - M)))
            c.write(c.twisted(c.read("%state", i), after, far), "%state", i)

        c.vectorized("0", str(N - M), from_ahead)
        c.vectorized(str(N - M), str(N - 1), from_behind)
        last, first = c.read("%state", str(N - 1)), c.read("%state", "0")
        c.write(c.twisted(last, first, c.read("%state", str(M - 1))), "%state", str(N - 1))


def _words(c: _WordBuilder) -> None:
    """`words(state, out, n)`: the next n tempered words, of arrays."""
    with c.function("void @words(ptr %state_array, ptr %out_array, i64 %n)"):
        state, out = c.elements("state_array", "out_array")
        c.e.line(f"call void @draw(ptr {state}, ptr {out}, i64 %n)")


def _draws(c: _WordBuilder) -> None:
    """`draws(context, n, in_pairs)`: n words, or n words of 64 bits."""
    with c.function("void @draws(ptr %context, i64 %n, i64 %in_pairs)"):
        given = c.load_context("*state", "*out")
        count = c.e.value("shl i64 %n, %in_pairs")
        c.e.line(f"call void @draw(ptr {given['state']}, ptr {given['out']}, i64 {count})")
        with c.if_then(c.icmp("ne", "%in_pairs", "0")):
            c.e.line(f"call void @exchange(ptr {given['out']}, i64 %n)")


def _draw(c: _WordBuilder) -> None:
    """`draw(state, out, n)`: the next n tempered words."""
    state, out = "%state", "%out"
    with c.function("internal void @draw(ptr %state, ptr %out, i64 %n)"):
        done = c.local("i64", "0")
        with c.loop_forever() as end:
            have = c.load_word(done)
            c.branch_unless(c.icmp("slt", have, "%n"), end)
            with c.if_then(c.icmp("eq", _used(c, state), str(N))):
                c.e.line(f"call void @regenerate(ptr {state})")
                c.write("0", state, str(N))
            used = _used(c, state)
            count = c.min(c.sub("%n", have), c.sub(str(N), used))
            source, target = c.gep(state, used), c.gep(out, have)
            c.vectorized("0", count, lambda i: c.write(c.tempered(c.read(source, i)), target, i))
            now = c.e.value(f"trunc i64 {c.add(used, count)} to i32")
            c.write(now, state, str(N))
            c.store_word(done, c.add(have, count))


def _used(c: _WordBuilder, state: str) -> str:
    return c.e.value(f"zext i32 {c.read(state, str(N))} to i64")


def _uniform(c: _WordBuilder) -> None:
    """`uniform(state, out)`: a double in [0, 1) from two words, the high half first."""
    with c.function("internal void @uniform(ptr %state, ptr %out)"):
        halves = []
        for _ in range(2):
            with c.if_then(c.icmp("eq", _used(c, "%state"), str(N))):
                c.e.line("call void @regenerate(ptr %state)")
                c.write("0", "%state", str(N))
            used = _used(c, "%state")
            word = c.tempered(c.read("%state", used))
            c.write(c.e.value(f"trunc i64 {c.add(used, '1')} to i32"), "%state", str(N))
            halves.append(c.e.value(f"zext i32 {word} to i64"))
        high = c.e.value(f"and i64 {c.mul(halves[0], str(1 << 32))}, {HIGH_HALF}")
        whole = c.e.value(f"uitofp i64 {c.e.value(f'or i64 {high}, {halves[1]}')} to double")
        scaled = c.e.value(f"fmul double {whole}, {literal(2.0**-53, F64)}")
        c.store_word("%out", scaled, "double")


def _write_uniform(e: Emitter) -> None:
    c = _WordBuilder(e, "float")
    _regenerate(c)
    _uniform(c)


def _seed(c: _WordBuilder) -> None:
    """`seed(state, number)`."""
    with c.function("void @seed(ptr %state_array, i64 %given)"):
        (state,) = c.elements("state_array")
        c.write(c.e.value("trunc i64 %given to i32"), state, "0")
        with c.loop("1", str(N)) as i:
            before = c.read(state, c.sub(i, "1"))
            mixed = c.op("xor", before, c.op("lshr", before, 30))
            place = c.e.value(f"trunc i64 {i} to i32")
            c.write(c.op("add", c.op("mul", mixed, 1812433253), place), state, i)
        c.write(str(N), state, str(N))


def _swap(c: _WordBuilder) -> None:
    """`swap(out, n)`: swap the words of each of n pairs of an array."""
    with c.function("void @swap(ptr %out_array, i64 %n)"):
        (out,) = c.elements("out_array")
        c.e.line(f"call void @exchange(ptr {out}, i64 %n)")


def _exchange(c: _WordBuilder) -> None:
    """`exchange(out, n)`: swap the words of each of n pairs."""
    with c.function("internal void @exchange(ptr %out, i64 %n)"), c.loop("0", "%n") as i:
        address = c.e.value(f"getelementptr i64, ptr %out, i64 {i}")
        pair = c.e.value(f"load i64, ptr {address}, align 4")
        high, low = c.e.value(f"shl i64 {pair}, 32"), c.e.value(f"lshr i64 {pair}, 32")
        c.e.line(f"store i64 {c.e.value(f'or i64 {high}, {low}')}, ptr {address}, align 4")


def _shuffle(c: _WordBuilder) -> None:
    """`shuffle(values, words, n)`: a Fisher-Yates shuffle."""
    with c.function("void @shuffle(ptr %values_array, ptr %words_array, i64 %n)"):
        values, words = c.elements("values_array", "words_array")
        last = c.sub("%n", "1")
        with c.loop("0", last) as i:
            left = c.e.value(f"trunc i64 {c.sub('%n', i)} to i32")
            chosen = c.op("urem", c.read(words, i), left)
            other = c.add(i, c.e.value(f"zext i32 {chosen} to i64"))
            addresses = [
                c.e.value(f"getelementptr i64, ptr {values}, i64 {index}") for index in (i, other)
            ]
            first, second = (c.load_word(address) for address in addresses)
            c.store_word(addresses[0], second)
            c.store_word(addresses[1], first)


def _singles(c: _WordBuilder) -> None:
    """`singles(state, out, n)`: floats in [0, 1), of 24 bits each."""
    with c.function("void @singles(ptr %state_array, ptr %out_array, i64 %n)"):
        state, out = c.elements("state_array", "out_array")
        c.e.line(f"call void @draw(ptr {state}, ptr {out}, i64 %n)")
        with c.loop("0", "%n") as i:
            bits = c.op("and", c.read(out, i), 2**24 - 1)
            whole = c.e.value(f"sitofp i32 {bits} to float")
            scaled = c.e.value(f"fmul float {whole}, {literal(2.0**-24, F32)}")
            c.store(scaled, c.gep(out, i))


def _scale_singles(c: _WordBuilder) -> None:
    """`scale_singles(out, n, scale, shift)`: each times scale plus shift, computed in doubles."""
    with c.function("void @scale_singles(ptr %out_array, i64 %n, double %scale, double %shift)"):
        (out,) = c.elements("out_array")
        with c.loop("0", "%n") as i:
            address = c.gep(out, i)
            wide = c.e.value(f"fpext float {c.load(address)} to double")
            product = c.e.value(f"fmul double {wide}, %scale")
            total = c.e.value(f"fadd double {product}, %shift")
            c.store(c.e.value(f"fptrunc double {total} to float"), address)


def _as_doubles(c: _WordBuilder) -> None:
    """`as_doubles(out, n)`: pairs of words to doubles in [0, 1) with 53 bits, in their memory."""
    with c.function("internal void @as_doubles(ptr %out, i64 %n)"):
        c.e.line("call void @exchange(ptr %out, i64 %n)")
        with c.loop("0", "%n") as i:
            address = c.gep_i64("%out", i)
            bits = c.e.value(f"and i64 {c.load_word(address)}, {2**53 - 1}")
            whole = c.e.value(f"sitofp i64 {bits} to double")
            scaled = c.e.value(f"fmul double {whole}, {literal(2.0**-53, F64)}")
            c.store_word(address, scaled, "double")


def _doubles(c: _WordBuilder) -> None:
    """`doubles(state, out, n)`."""
    with c.function("void @doubles(ptr %state_array, ptr %out_array, i64 %n)"):
        state, out = c.elements("state_array", "out_array")
        c.e.line(f"call void @draw(ptr {state}, ptr {out}, i64 {c.mul('%n', '2')})")
        c.e.line(f"call void @as_doubles(ptr {out}, i64 %n)")


def _gaussians(c: _WordBuilder) -> None:
    """`gaussians(state, out, n)`: n pairs of normals of doubles, made one pair after the other."""
    with c.function("void @gaussians(ptr %state_array, ptr %out_array, i64 %n)"):
        state, out = c.elements("state_array", "out_array")
        c.e.line(f"call void @draw(ptr {state}, ptr {out}, i64 {c.mul('%n', '4')})")
        c.e.line(f"call void @as_doubles(ptr {out}, i64 {c.mul('%n', '2')})")
        of_doubles = IRBuilder(c.e, "double")
        with c.loop("0", "%n") as i:
            c_library.write_pair(of_doubles, out, out, c.mul(i, "2"))


def _normals(c: _WordBuilder, program: Program) -> None:
    """`body(context, begin, end)`: rows of 16 words to rows of 16 normals.

    The halves of rows (radii and angles) are deinterleaved to buffers, to fill vectors.
    """
    half = BLOCK // 2
    vector = f"<{half} x i32>"
    with c.function(BODY):
        parts = [c.e.value(f"alloca [{ROWS * half} x i32], align 64") for _ in range(4)]
        given = c.load_context(*NORMALS)
        with c.loop("%begin", "%end", by=ROWS) as first:
            count = c.min(str(ROWS), c.sub("%end", first))
            start = c.mul(first, str(BLOCK))
            source, target = c.gep(given["words"], start), c.gep(given["out"], start)
            for halves, rows, is_input in ((parts[:2], source, True), (parts[2:], target, False)):
                if not is_input:
                    pointers = [*parts[:2], given["mean"], given["std"], *parts[2:]]
                    words = c.mul(count, str(half))
                    ElementwiseLoop(c.e, program, pointers, frozenset((2, 3))).emit("0", words)
                with c.loop("0", count) as row:
                    for side, part in enumerate(halves):
                        packed = c.gep(part, c.mul(row, str(half)))
                        strided = c.gep(rows, c.add(c.mul(row, str(BLOCK)), str(half * side)))
                        to, from_ = (packed, strided) if is_input else (strided, packed)
                        c.store(c.load(from_, vector), to, vector)


def _start_normals(c: _WordBuilder) -> None:
    """`normals(words, out, rows, mean, std)`, on all threads."""
    arrays = "ptr %words_array, ptr %out_array"
    with c.function(f"void @normals({arrays}, i64 %rows, float %mean, float %std)"):
        context = c.e.value(f"alloca i64, i64 {len(NORMALS)}, align 8")
        mean, std = c.local("float", "%mean"), c.local("float", "%std")
        words, out = c.elements("words_array", "out_array")
        c.store_context(context, NORMALS, {"words": words, "out": out, "mean": mean, "std": std})
        run_tasks(c.e, context, "%rows", str(ROWS))


@functools.cache
def _normals_in_context(kernel: Elementwise) -> Any:
    program = kernel.program(0)
    return compiled(f"normals\n{program}", lambda: normals_module(program), "normals_in_context")


def normals(kernel: Elementwise, rows: int) -> ContextCall:
    """The call that turns rows of words into rows of normals: words, results, mean, deviation."""
    return ContextCall(_normals_in_context(kernel), (), (rows, ROWS))


class Twister:
    """The compiled functions, on NumPy's arrays."""

    def __init__(self, normals: Any) -> None:
        # The kernel whose formula makes normals of words.
        self._kernel = normals
        self._loaded: dict[str, Any] = {}

    def _function(self, name: str) -> Any:
        return self._loaded.get(name) or self._load(name)

    @functools.cache  # noqa: B019  # one twister per process
    def _sampler(self, name: str, is_single: bool) -> Any:
        arrays = [_OBJECT] * (1 + len(ARRAYS[name]))
        address = jit.machine().function(
            f"sampler {name} {is_single}",
            lambda: sampler_module(name, is_single, _write_uniform),
            name,
        )
        return ctypes.CFUNCTYPE(None, *arrays, _SIZE)(address)

    def sample(self, name: str, is_single: bool, state: Words, *arrays: Doubles) -> None:
        """Draw numbers by rejection, for each element in turn; the last array takes them."""
        self._sampler(name, is_single)(id(state), *map(id, arrays), arrays[-1].size)

    def _load(self, name: str) -> Any:
        """Compile a function, with the others of its module."""
        machine = jit.machine()
        if name == "normals":
            program = self._kernel.program(0)
            found = machine.functions(f"normals\n{program}", lambda: normals_module(program), name)
        else:
            names = [each for each in FUNCTIONS if each != "normals"]
            found = machine.functions("words", words_module, *names)
        for each, address in found.items():
            self._loaded[each] = ctypes.CFUNCTYPE(None, *FUNCTIONS[each])(address)
        return self._loaded[name]

    def new_state(self, seed: int) -> Words:
        state = np.empty(N + 1, np.uint32)
        self._function("seed")(id(state), seed)
        return state

    def draw(self, state: Words, out: Words) -> None:
        """Fill an array with the next words."""
        self._function("words")(id(state), id(out), out.size)

    def draw_pairs(self, state: Words, count: int) -> npt.NDArray[np.uint64]:
        """Words of 64 bits, each from two words, the high half first."""
        words = np.empty(2 * count, np.uint32)
        self._function("words")(id(state), id(words), 2 * count)
        self._function("swap")(id(words), count)
        return words.view(np.uint64)

    def singles(self, state: Words, out: npt.NDArray[np.float32]) -> None:
        """Fill an array with floats in [0, 1)."""
        self._function("singles")(id(state), id(out), out.size)

    def scale_singles(self, numbers: npt.NDArray[np.float32], scale: float, shift: float) -> None:
        """Multiply and add in doubles; the results are rounded to floats."""
        self._function("scale_singles")(id(numbers), numbers.size, scale, shift)

    def doubles(self, state: Words, out: Doubles) -> None:
        """Fill an array with doubles in [0, 1)."""
        self._function("doubles")(id(state), id(out), out.size)

    def gaussians(self, state: Words, out: Doubles) -> None:
        """Fill an array of even length with normals, in pairs."""
        self._function("gaussians")(id(state), id(out), out.size // 2)

    def shuffle(self, values: npt.NDArray[np.int64], words: Words) -> None:
        """Swap element i of n with element i + words[i] % (n - i), for each i in turn."""
        self._function("shuffle")(id(values), id(words), values.size)

    def normals(self, words: Words, mean: float, std: float, out: npt.NDArray[np.float32]) -> None:
        """Turn rows of 16 words into rows of 16 normals."""
        self._function("normals")(id(words), id(out), len(words), mean, std)

    def normal_pairs(self, uniforms: Doubles) -> Doubles:
        return c_library.normal_pairs(uniforms)

    def libm(self, name: str, values: Doubles) -> Doubles:
        return c_library.apply(name, values)
