"""How the named tuples of decompositions are printed, and where their classes are found."""

from __future__ import annotations

from typing import Any

from tests.twice import twice


@twice
def test_results_are_printed_with_their_names(m: Any) -> Any:
    A, linalg = m.tensor([[4.0, 0.0], [0.0, 2.0]]), m.linalg
    factors = linalg.lu_factor(A)
    results = [
        linalg.eig(A), linalg.eigh(A), linalg.inv_ex(A), linalg.cholesky_ex(A), linalg.lu(A),
        linalg.solve_ex(A, A), linalg.slogdet(A), factors, linalg.lu_factor_ex(A),
        m.lu_unpack(*factors), m.lu(A, get_infos=True), linalg.ldl_factor(A),
        linalg.ldl_factor_ex(A), m.triangular_solve(A, A),
    ]  # fmt: skip
    # Signs are free in these.
    free = [linalg.svd(A), m.svd(A), linalg.qr(A), m.qr(A), m.geqrf(A), linalg.lstsq(A, A)]
    names = [repr(each).split("=")[0] for each in free]
    kinds = [getattr(m.return_types, type(each).__name__) is type(each) for each in results + free]
    return [repr(each) for each in results], names, kinds
