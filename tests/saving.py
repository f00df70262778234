"""Objects as the bytes of a file and back, in both libraries, and files that are made by hand."""

from __future__ import annotations

import io
import pickle
import zipfile
from typing import Any

import torch

import clew

# What a damaged or refused file may raise.
REFUSED = (pickle.UnpicklingError, RuntimeError, EOFError)


def torch_bytes(obj: Any, **kwargs: Any) -> bytes:
    buffer = io.BytesIO()
    torch.save(obj, buffer, **kwargs)
    return buffer.getvalue()


def clew_bytes(obj: Any, **kwargs: Any) -> bytes:
    buffer = io.BytesIO()
    clew.save(obj, buffer, **kwargs)
    return buffer.getvalue()


def clew_load(data: bytes, **kwargs: Any) -> Any:
    return clew.load(io.BytesIO(data), **kwargs)


def torch_load(data: bytes, **kwargs: Any) -> Any:
    return torch.load(io.BytesIO(data), **kwargs)


def archive_of(body: bytes, **records: bytes) -> bytes:
    """An archive with any pickle, and checksums that are right."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as target:
        target.writestr("archive/data.pkl", body)
        target.writestr("archive/version", b"3\n")
        for name, data in records.items():
            target.writestr(f"archive/data/{name.removeprefix('_')}", data)
    return buffer.getvalue()
