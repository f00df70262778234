"""clew.quasirandom: Sobol sequences, which fill the unit cube more evenly than random points."""

from __future__ import annotations

from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.public import FUNCTIONS, deliver
from clew.core.tensor import Tensor, wrap
from clew.kernels.numpy import sobol
from clew.ops.create.random import Generator

__all__ = ["SobolEngine"]


class SobolEngine:
    """Draws the points of a Sobol sequence in the unit cube.

    Args:
        dimension: of the points, 1 to 21201
        scramble: whether to randomize the digits of all points, which keeps them evenly spread
        seed: of the scrambling; without it the default generator decides

    The numbers are PyTorch's, for the same seed. A power of two points is spread most evenly.

    Example:
        >>> engine = clew.quasirandom.SobolEngine(dimension=2)
        >>> engine.draw(4)
        tensor([[0.0000, 0.0000],
                [0.5000, 0.5000],
                [0.7500, 0.2500],
                [0.2500, 0.7500]])
    """

    MAXBIT = sobol.MAXBIT
    MAXDIM = sobol.MAXDIM

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if dimension > self.MAXDIM or dimension < 1:
            raise ValueError(
                "Supported range of dimensionality for SobolEngine is "
                f"[1, {self.MAXDIM}]" + errors.at_user_line()
            )
        self.seed = seed
        self.scramble = scramble
        self.dimension = dimension
        self.sobolstate = wrap(sobol.directions(dimension))
        self.shift = wrap(np.zeros(dimension, np.int64))
        if scramble:
            self._scramble()
        self.quasi = self.shift.clone()
        self._first_point = self._as_fractions(self.quasi._array.reshape(1, -1), dtypes.float32)
        self.num_generated = 0

    def draw(
        self, n: int = 1, out: Tensor | None = None, dtype: dtypes.dtype | None = None
    ) -> Tensor:
        """The next n points, shape (n, dimension).

        Args:
            n: how many points
            out: a tensor for the result
            dtype: float32 or float64; without it the default dtype

        Example:
            >>> engine = clew.quasirandom.SobolEngine(dimension=1)
            >>> engine.draw(2).flatten(), engine.draw(2).flatten()
            (tensor([0.0000, 0.5000]), tensor([0.7500, 0.2500]))
        """
        dtype = dtype or dtypes.get_default_dtype()
        if dtype not in (dtypes.float32, dtypes.float64):
            raise errors.no_kernel("_sobol_engine_draw", dtype)
        is_first = self.num_generated == 0
        following = self._following(n - 1 if is_first else n)
        integers = np.concatenate([self.quasi._array[None], following])
        self.quasi = wrap(integers[-1].copy())
        self.num_generated += n
        result = self._as_fractions(integers if is_first else following, dtype)
        return result if out is None else deliver(result, out)

    def draw_base2(
        self, m: int, out: Tensor | None = None, dtype: dtypes.dtype | None = None
    ) -> Tensor:
        """The next 2**m points, if then a power of two points was drawn altogether.

        Args:
            m: the number of points, as a power of two
            out: a tensor for the result
            dtype: float32 or float64; without it the default dtype

        Example:
            >>> clew.quasirandom.SobolEngine(dimension=3).draw_base2(4).shape
            torch.Size([16, 3])
        """
        n: int = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(
                "The balance properties of Sobol' points require n to be a power of 2. "
                f"{self.num_generated} points have been previously generated, then: "
                f"n={self.num_generated}+2**{m}={total}. If you still want to do this, please use "
                "'SobolEngine.draw()' instead." + errors.at_user_line()
            )
        return self.draw(n=n, out=out, dtype=dtype)

    def reset(self) -> SobolEngine:
        """Start again with the first point.

        Example:
            >>> engine = clew.quasirandom.SobolEngine(dimension=1)
            >>> points = engine.draw(3)
            >>> bool((engine.reset().draw(3) == points).all())
            True
        """
        self.quasi = self.shift.clone()
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Leave out the next n points.

        Args:
            n: how many points

        Example:
            >>> clew.quasirandom.SobolEngine(dimension=1).fast_forward(1).draw(2).flatten()
            tensor([0.5000, 0.7500])
        """
        if n < 0:
            raise ValueError(f"fast_forward(): n is {n}, and must be >= 0" + errors.at_user_line())
        if n > 0:
            skipped = self._following(n - 1 if self.num_generated == 0 else n)
            self.quasi = wrap(skipped[-1].copy()) if len(skipped) else self.quasi
            self.num_generated += n
        return self

    def _following(self, count: int) -> Any:
        """The integers of the points after the last one."""
        if count < 0:
            raise RuntimeError(
                f"Trying to create tensor with negative dimension {count}: "
                f"[{count}, {self.dimension}]" + errors.at_user_line()
            )
        index = max(self.num_generated - 1, 0)
        return sobol.points(self.quasi._array, self.sobolstate._array, index, count)

    def _scramble(self) -> None:
        generator = None if self.seed is None else Generator().manual_seed(self.seed)
        randint = FUNCTIONS["randint"]
        digits = randint(2, (self.dimension, self.MAXBIT), generator=generator)
        self.shift = wrap(digits._array @ (1 << np.arange(self.MAXBIT)))
        size = (self.dimension, self.MAXBIT, self.MAXBIT)
        matrices = randint(2, size, generator=generator)._array
        self.sobolstate = wrap(sobol.scrambled(self.sobolstate._array, matrices))

    def _as_fractions(self, integers: Any, dtype: dtypes.dtype) -> Tensor:
        fractions = integers.astype(dtype.np) * dtype.np.type(2.0**-self.MAXBIT)
        return wrap(fractions)

    def __repr__(self) -> str:
        parts = [f"dimension={self.dimension}"]
        if self.scramble:
            parts.append("scramble=True")
        if self.seed is not None:
            parts.append(f"seed={self.seed}")
        return f"{type(self).__name__}({', '.join(parts)})"
