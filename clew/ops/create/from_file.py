"""from_file: a tensor whose memory is a file, mapped."""

from __future__ import annotations

import os
from typing import Unpack

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.public import public
from clew.core.tensor import Tensor
from clew.ops.define.options import Options, made


@public(method=False, out=False)
def from_file(
    filename: str,
    shared: bool | None = None,
    size: int = 0,
    *,
    dtype: dtypes.dtype | None = None,
    **options: Unpack[Options],
) -> Tensor:
    """A 1-d tensor whose memory is a file; reading it reads the file, piece by piece.

    Args:
        filename: the file
        shared: whether writes go to the file, which is created and extended where it is too short;
            otherwise they stay in this tensor
        size: the number of elements
        dtype: of the elements; without it the default dtype
        options: layout, device, pin_memory and requires_grad, as for `clew.zeros`

    Example:
        >>> numbers = clew.from_file("numbers.bin", shared=True, size=3)
        >>> numbers.copy_(clew.tensor([1., 2., 3.]))
        tensor([1., 2., 3.])
        >>> clew.from_file("numbers.bin", size=2)
        tensor([1., 2.])
    """
    kind = dtype or dtypes.get_default_dtype()
    needed = size * kind.np.itemsize
    if shared:
        with open(filename, "ab") as file:
            if file.tell() < needed:
                file.truncate(needed)
    elif not os.path.exists(filename):
        raise RuntimeError(
            f"unable to open file <{filename}> in read-only mode: No such file or directory (2)"
            + errors.at_user_line()
        )
    if os.path.getsize(filename) < needed:
        raise RuntimeError(
            f"file <{filename}> size <{os.path.getsize(filename)}> is smaller than the required "
            f"mapping size <{needed}>" + errors.at_user_line()
        )
    if not size:
        return made("from_file", np.empty(0, kind.np), options)
    bytes_of_file = np.memmap(filename, np.uint8, "r+" if shared else "c", shape=(needed,))
    return made("from_file", np.asarray(bytes_of_file).view(kind.np), options)
