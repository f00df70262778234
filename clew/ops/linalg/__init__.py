"""Linear algebra: products, decompositions, solvers and norms of matrices."""

from clew.aliasing import on_request

# What was in the module that had the name of this folder: old pickles find it.
__getattr__, __dir__ = on_request(
    __name__,
    (),
    dict.fromkeys(
        (
            "det", "slogdet", "logdet", "pinv", "pinverse", "lstsq", "matrix_power", "matrix_exp",
            "matrix_rank", "tensorinv", "tensorsolve",
        ),
        "matrix_functions",
    ),
)  # fmt: skip
