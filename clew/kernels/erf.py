"""The error function over arrays.

Up to 1 in size erf(x) = x * P(x^2); above, erfc(x) = exp(-x^2) * Q((x - 3) / (x + 3)). P and Q are
interpolating polynomials, in variables scaled to [-1, 1] where they are well conditioned. The
relative error is about one unit in the last place.
"""

from __future__ import annotations

import numpy as np

from clew.kernels.arrays import Array

_SMALL_64 = (
    0.9654687386698673, -0.1405360890227171, 0.019852496688983708, -0.0022854855611440673,
    0.00021751715604160108, -1.7537169441492004e-05, 1.2233827383524026e-06,
    -7.511569160710623e-08, 4.115800597661665e-09, -2.03524938661036e-10, 9.167606748998164e-12,
    -3.7910973708931526e-13, 1.4548169783352384e-14, -5.16472878942302e-16,
)  # fmt: skip
_LARGE_64 = (
    0.20798329133342885, -0.15436117429436919, 0.0496984454033948, -0.012713147695691882,
    0.002479314697072364, -0.0003316029605800424, 1.9563583309118315e-05, 2.4255574911416635e-06,
    -5.541277486698946e-07, -4.526755973128102e-09, 1.1340277187685168e-08,
    -2.637233534630035e-10, -2.5812754473153976e-10, 5.9585090999672966e-12,
    6.748923606930226e-12, 4.7477677421300625e-14, -1.867773192306032e-13,
    -1.1623154093963463e-14, 4.418717745726136e-15, 6.01325090909912e-16,
)  # fmt: skip
_SMALL_32 = (
    0.9654687386375691, -0.14053608902112114, 0.019852497722455814, -0.002285485612212242,
    0.0002175119906208899, -1.7536914180800595e-05, 1.2316395977478375e-06,
    -7.552378571474216e-08,
)  # fmt: skip
_LARGE_32 = (
    0.20798329133342885, -0.1543611741150767, 0.04969844502435794, -0.012713150077462087,
    0.0024793197594595853, -0.00033159447203562185, 1.954527515097425e-05,
    2.4145078152230687e-06, -5.294554126105606e-07,
)  # fmt: skip

# erf is 1 to double precision from here on; Q is fitted for sizes between 1 and this.
_SATURATED = 6.0
_BLOCK = 8192


def erf_array(x: Array) -> Array:
    """erf of a float32 or float64 array, as a new array."""
    flat = np.ascontiguousarray(x).reshape(-1)
    result = np.empty_like(flat)
    single = x.dtype == np.float32
    small, large = (_SMALL_32, _LARGE_32) if single else (_SMALL_64, _LARGE_64)
    for start in range(0, flat.size, _BLOCK):
        # In blocks, so that the many passes of the polynomials stay in the cache.
        part = slice(start, start + _BLOCK)
        result[part] = _erf_block(flat[part], small, large)
    return result.reshape(x.shape)


def _erf_block(x: Array, small: tuple[float, ...], large: tuple[float, ...]) -> Array:
    size = np.minimum(np.abs(x), _SATURATED)
    square = size * size
    near = _polynomial(2 * square - 1, small)
    near *= size
    # (x - 3) / (x + 3) runs from -1/2 to 1/3 over the sizes that Q is fitted for.
    scaled = (size - 3) / (size + 3)
    scaled *= 2.4
    scaled += 0.2
    far = _polynomial(scaled, large)
    far *= np.exp(-square)
    np.subtract(1, far, out=far)
    np.copyto(near, far, where=size > 1)
    return np.copysign(near, x, out=near)


def _polynomial(x: Array, coefficients: tuple[float, ...]) -> Array:
    result = np.full_like(x, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        result *= x
        result += coefficient
    return result
