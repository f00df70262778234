"""The Mersenne Twister behind every random stream, in step with PyTorch's CPU generator.

The words come from a compiled engine; this module adds what PyTorch keeps beside them: the seed,
the second normal of a pair, and the 5056-byte state layout, so that a state saved by one library
continues in the other.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from clew.forking import add_lock, cached_property
from clew.interrupts import uninterrupted

UInt8Array = npt.NDArray[np.uint8]
UInt32Array = npt.NDArray[np.uint32]
UInt64Array = npt.NDArray[np.uint64]

DEFAULT_SEED = 67280421310721
STATE_BYTES = 5056

_WORDS = 624

# PyTorch saves its state as a C structure of 64-bit cells; 32-bit members share a cell.
_STATE_DTYPE = np.dtype(
    {
        "names": [
            "seed",
            "left",
            "seeded",
            "next",
            "words",
            "normal",
            "has_normal",
            "float_normal",
            "has_float_normal",
        ],
        "formats": ["<u8", "<i4", "<i4", "<u8", ("<u8", (_WORDS,)), "<f8", "<i4", "<f4", "<u1"],
        "offsets": [0, 8, 12, 16, 24, 5024, 5040, 5048, 5052],
        "itemsize": STATE_BYTES,
    }
)


class Engine(Protocol):
    """What makes the words of a stream, and numbers of many of them at once."""

    def new_state(self, seed: int) -> UInt32Array:
        """624 words, and how many of them are used up."""
        ...

    def draw(self, state: UInt32Array, out: UInt32Array) -> None: ...

    def draw_pairs(self, state: UInt32Array, count: int) -> UInt64Array: ...

    def singles(self, state: UInt32Array, out: npt.NDArray[np.float32]) -> None: ...

    def scale_singles(
        self, numbers: npt.NDArray[np.float32], scale: float, shift: float
    ) -> None: ...

    def doubles(self, state: UInt32Array, out: npt.NDArray[np.float64]) -> None: ...

    def gaussians(self, state: UInt32Array, out: npt.NDArray[np.float64]) -> None: ...

    def shuffle(self, values: npt.NDArray[np.int64], words: UInt32Array) -> None: ...

    def sample(
        self, name: str, is_single: bool, state: UInt32Array, *arrays: npt.NDArray[np.float64]
    ) -> None: ...

    def normals(
        self, words: UInt32Array, mean: float, std: float, out: npt.NDArray[np.float32]
    ) -> None: ...

    def normal_pairs(self, uniforms: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]: ...

    def libm(self, name: str, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """A function of the C library, of each element."""
        ...


_make_engine: Callable[[], Engine]


def use_engine(make: Callable[[], Engine]) -> None:
    """Set what makes the engine, at the first draw: it is compiled, by a layer above this one."""
    global _make_engine
    _make_engine = make


@functools.cache
def engine() -> Engine:
    return _make_engine()


class Generator:
    """A stream of random words on the CPU, equal to ``torch.Generator`` bit for bit.

    ``lock`` guards the stream: every function that draws holds it for the whole of its draw.
    """

    def __init__(self, device: str = "cpu") -> None:
        if str(device) != "cpu":
            raise RuntimeError(f"Generator: expected device cpu, got {device}")
        self.lock = add_lock(self, "lock", threading.RLock)
        self.next_normal: float | None = None
        self._next_float_normal: float | None = None
        self._moves = 0
        self.manual_seed(DEFAULT_SEED)

    @cached_property
    def _state(self) -> UInt32Array:
        """The words, and how many of them are used up; made from the seed by the first draw."""
        return engine().new_state(self._seed & 0xFFFFFFFF)

    @property
    def device(self) -> str:
        """Where the stream lives: always ``'cpu'``."""
        return "cpu"

    def manual_seed(self, seed: int) -> Generator:
        """Restart the stream from ``seed`` (negative seeds count from 2**64) and return itself."""
        seed = int(seed)
        if not -(2**63) <= seed < 2**64:
            raise ValueError("Overflow when unpacking long long")
        with self.lock:
            # From here on plain stores, which an interrupt does not come between.
            self._seed = seed % 2**64
            if "_state" in self.__dict__:
                del self._state
            self._untouched = True
            self._moves += 1
            self.next_normal = None
            self._next_float_normal = None
        return self

    def seed(self) -> int:
        """Restart the stream from a seed the operating system chose, and return that seed."""
        # 53 bits, so that the seed survives a trip through a double.
        self.manual_seed(int.from_bytes(os.urandom(7), "little") >> 3)
        return self._seed

    def initial_seed(self) -> int:
        """Return the seed of the last ``manual_seed`` or ``seed``."""
        return self._seed

    def mark(self) -> tuple[Any, ...]:
        """Where the stream stands: as long as the mark is the same, so is the state."""
        return self._moves, self.next_normal, self._next_float_normal

    def clone_state(self) -> Generator:
        """Return a new generator that will produce the same numbers as this one."""
        return _restored(self.get_state())

    def __reduce__(self) -> tuple[Callable[[UInt8Array], Generator], tuple[UInt8Array]]:
        return _restored, (self.get_state(),)

    def get_state(self) -> UInt8Array:
        """Return the whole state as the 5056 bytes that ``torch.Generator.get_state`` returns."""
        record = np.zeros((), dtype=_STATE_DTYPE)
        with self.lock:
            state = self._state
            record["seed"] = self._seed
            # PyTorch counts the words left plus one; a new seed has none left and none used.
            record["left"] = _WORDS + 1 - int(state[_WORDS])
            record["seeded"] = 1
            record["next"] = 0 if self._untouched else state[_WORDS]
            record["words"] = state[:_WORDS]
            if self.next_normal is not None:
                record["normal"], record["has_normal"] = self.next_normal, 1
            if self._next_float_normal is not None:
                record["float_normal"], record["has_float_normal"] = self._next_float_normal, 1
        return np.frombuffer(record.tobytes(), dtype=np.uint8).copy()

    def set_state(self, state: UInt8Array) -> Generator:
        """Continue from a state saved by ``get_state`` here or in PyTorch, and return itself."""
        data = np.asarray(state)
        if data.dtype != np.uint8:
            raise TypeError(f"RNG state must be a torch.ByteTensor, got an array of {data.dtype}")
        if data.size != STATE_BYTES:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {STATE_BYTES} but found the input RNG "
                f"state size to be {data.size}"
            )
        record = np.frombuffer(data.tobytes(), dtype=_STATE_DTYPE)[0]
        left, used = int(record["left"]), int(record["next"])
        if not record["seeded"] or not 1 <= left <= _WORDS or used > _WORDS:
            raise RuntimeError("Invalid mt19937 state")
        seed = int(record["seed"])
        words = np.append(record["words"], _WORDS + 1 - left).astype(np.uint32)
        normal = float(record["normal"]) if record["has_normal"] else None
        float_normal = float(record["float_normal"]) if record["has_float_normal"] else None
        with self.lock:
            self._seed, self._state = seed, words
            self._untouched = left == 1 and used == 0
            self._moves += 1
            self.next_normal, self._next_float_normal = normal, float_normal
        return self

    def forked(self) -> Forked:
        """A block after which the stream is as it was before."""
        return Forked(self)

    def random32(self, n: int) -> UInt32Array:
        """Draw ``n`` words of 32 bits."""
        if n == 0:
            return np.empty(0, np.uint32)
        with self.lock:
            self._untouched = False
            self._moves += 1
            words = np.empty(n, np.uint32)
            engine().draw(self._state, words)
            return words

    def random64(self, n: int) -> UInt64Array:
        """Draw ``n`` words of 64 bits, each from two of 32 bits with the high half first."""
        if n == 0:
            return np.empty(0, np.uint64)
        with self.lock:
            self._untouched = False
            self._moves += 1
            return engine().draw_pairs(self._state, n)

    def words(self) -> UInt32Array:
        """The state, for code that draws from it while it holds the lock."""
        self._untouched = False
        self._moves += 1
        return self._state

    def doubles(self, n: int) -> npt.NDArray[np.float64]:
        """Draw ``n`` doubles in [0, 1) with 53 random bits each."""
        numbers = np.empty(n, np.float64)
        if n:
            with self.lock:
                engine().doubles(self.words(), numbers)
        return numbers

    def singles(self, n: int) -> npt.NDArray[np.float32]:
        """Draw ``n`` floats in [0, 1) with 24 random bits each."""
        numbers = np.empty(n, np.float32)
        if n:
            with self.lock:
                engine().singles(self.words(), numbers)
        return numbers

    def gaussians(self, n: int) -> npt.NDArray[np.float64]:
        """Draw ``n`` normals, an even number, in pairs of Box and Muller's."""
        numbers = np.empty(n, np.float64)
        if n:
            with self.lock:
                engine().gaussians(self.words(), numbers)
        return numbers

    def sample(self, name: str, is_single: bool, *arrays: npt.NDArray[np.float64]) -> None:
        """Draw "poisson", "binomial" or "gamma" numbers into the last of contiguous arrays."""
        if not arrays[-1].size:
            return
        with self.lock:
            self._moves += 1
            before = self._state.copy() if self._untouched else None
            engine().sample(name, is_single, self._state, *arrays)
            # Some parameters need no draw.
            self._untouched = before is not None and np.array_equal(before, self._state)


class Forked:
    """What `Generator.forked` gives."""

    def __init__(self, generator: Generator) -> None:
        self.generator = generator
        # The stream before it was entered, and the same for the times it was entered before that.
        self._before: Any = None

    def __enter__(self) -> None:
        stream = self.generator
        with stream.lock:
            words = stream._state.copy()
            self._before = (
                stream._seed, words, stream._untouched, stream.next_normal,
                stream._next_float_normal, self._before,
            )  # fmt: skip

    @uninterrupted
    def __exit__(self, *exc: object) -> None:
        stream = self.generator
        (
            stream._seed, stream._state, stream._untouched, stream.next_normal,
            stream._next_float_normal, self._before,
        ) = self._before  # fmt: skip
        stream._moves += 1


def _restored(state: UInt8Array) -> Generator:
    return Generator().set_state(state)


# Without a seed from the user, every process draws other numbers, as in PyTorch.
default_generator = Generator()
default_generator.seed()
