"""The sweep for cliffs: every operation at ten thousand and a million elements, forward, backward.

It looks for operations that take many times as long as PyTorch's; small ratios are the business of
the other groups. Rows are in tables by kind, each with the dtypes that are commonly used with it.
"""

from collections.abc import Iterator

from clew.bench.cliffs import elementwise, linalg, nn, shapes
from clew.bench.cliffs.inputs import DTYPES, Build, Call, Inputs

EXPONENTS = (4, 6)

# Which dtypes (letters of `DTYPES`) each table is run in.
_TABLES: tuple[tuple[dict[str, Build], str], ...] = (
    (elementwise.ELEMENTWISE, "fdbhi"),
    (elementwise.FLOATS, "fd"),
    (elementwise.POLYNOMIALS, "fd"),
    (elementwise.COMPLEX, "c"),
    (elementwise.INTEGERS, "i"),
    (elementwise.CONVERSIONS, "fdbhi"),
    (shapes.REDUCTIONS, "fdbhi"),
    (shapes.STATISTICS, "fd"),
    (shapes.COUNTING, "fdi"),
    (shapes.INDEXING, "fdbhi"),
    (shapes.SHAPES, "fdbhi"),
    (linalg.LINALG, "fdc"),
    (linalg.PRODUCTS, "fdbc"),
    (linalg.DISTANCES, "fd"),
    (linalg.FFT, "fd"),
    (nn.IMAGES, "fdb"),
    (nn.LAYERS, "fdb"),
    (nn.RECURRENT, "fd"),
    (nn.RANDOM, "fd"),
    (nn.WINDOWS, "f"),
)


def cases() -> Iterator[tuple[str, Build, int, str]]:
    """Name, row, number of elements and dtype of every case."""
    for table, letters in _TABLES:
        for name, build in table.items():
            for letter in letters:
                for exponent in EXPONENTS:
                    yield f"{name}.{DTYPES[letter]}", build, 10**exponent, DTYPES[letter]
