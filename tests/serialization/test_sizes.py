"""Sizes that a file states are not believed: nothing is made room for that is not there."""

from __future__ import annotations

import io
import tracemalloc
import zipfile

import pytest

from tests.saving import REFUSED, archive_of, clew_load

_TWICE = b"K\x01\x85" + b"2\x86" * 60
_TENSOR = b"ctorch._utils\n_rebuild_tensor_v2\n("
_STORAGE = b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpu"


@pytest.mark.parametrize(
    "body",
    [
        b"c__builtin__\nbytearray\nJ\xff\xff\xff\x7f\x85R.",
        b"c__builtin__\nbytearray\n\x8a\x06\x00\x00\x00\x00\x00\x10\x85R.",
        b"ccollections\ndeque\nc__builtin__\nrange\n\x8a\x06\x00\x00\x00\x00\x00\x10\x85R\x85R.",
        b"c__builtin__\nset\nc__builtin__\nrange\n\x8a\x06\x00\x00\x00\x00\x00\x10\x85R\x85R.",
        b"\x8d\xff\xff\xff\xff\xff\xff\x00\x00abc.",
        b"\x8e\xff\xff\xff\xff\xff\xff\x00\x00abc.",
        b"\x8b\xff\xff\xff\x7fabc.",
        _STORAGE + b"\x8a\x06\x00\x00\x00\x00\x00\x10tQ.",
        _STORAGE + b"J\xff\xff\xff\xfftQ.",
        _TENSOR + _STORAGE + b"K\x05tQK\x00J\xff\xff\xff\x7f\x85K\x01"
        b"\x85\x89NtR.",
        _TENSOR + _STORAGE + b"K\x05tQK\x01K\x05\x85K\x01\x85\x89NtR.",
        _TENSOR + _STORAGE + b"K\x05tQJ\xff\xff\xff\xffK\x05\x85K\x01"
        b"\x85\x89NtR.",
        _TENSOR + _STORAGE + b"K\x05tQK\x04K\x02\x85J\xff\xff\xff\xff"
        b"\x85\x89NtR.",
        b"cnumpy._core.multiarray\nscalar\ncnumpy\ndtype\nX\x0b\x00\x00\x00S9999999999\x85RC\x00\x86R.",
        b"cnumpy._core.multiarray\nscalar\ncnumpy\ndtype\nX\x01\x00\x00\x00O\x85RC\x00\x86R.",
        b"ccollections\nOrderedDict\n]]K\x01" + b"\x85" * 100_000 + b"aK\x01aa\x85R.",
        b"}c__builtin__\nslice\nK\x01" + b"\x85" * 100_000 + b"NN\x87RK\x01s.",
        b"}ctorch\ndevice\nX\x03\x00\x00\x00cpuK\x01" + b"\x85" * 100_000 + b"\x86RK\x01s.",
        _TENSOR + _STORAGE + b"K\x05tQK\x00\x8a\x06\x00\x00\x00\x00\x00\x10\x85K\x00\x85\x89N}"
        b"X\x04\x00\x00\x00conj\x88stR.",
        # Values that contain themselves twice, sixty times over, where they make no sense.
        _TWICE + b")R.",
        _TWICE + b")\x81.",
        b"ctorch\nSize\n" + _TWICE + b"\x85R.",
        b"ctorch.serialization\n_get_layout\n" + _TWICE + b"\x85R.",
        b"ccollections\ndefaultdict\n" + _TWICE + b"\x85R.",
        b"cnumpy\ndtype\n" + _TWICE + b"\x85R.",
        b"ctorch._tensor\n_rebuild_from_type_v2\n(" + _TWICE + b"NNNtR.",
        _TENSOR + _STORAGE + b"K\x05tQ" + _TWICE + b"))\x89NtR.",
        b"(" + _TWICE + b"NNNNtQ.",
        b"(" + _STORAGE[1:] + b"K\x05" + _TWICE + b"tQ.",
        # A key that contains itself twice, forty times over: its hash would take years.
        b"}K\x01\x85" + b"2\x86" * 40 + b"K\x01s.",
        # A key so deep that hashing it would overflow the stack.
        b"}K\x01" + b"\x85" * 100_000 + b"K\x01s.",
        b"}K\x01" + b"\x85" * 100_000 + b"\x85R.",
    ],
)  # fmt: skip
def test_sizes_are_not_believed(body: bytes) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(REFUSED):
            clew_load(archive_of(b"\x80\x04" + body, _0=bytes(20)), weights_only=False)
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
    finally:
        tracemalloc.stop()


def test_a_memo_with_large_numbers_takes_no_room() -> None:
    body = b"\x80\x02K\x07r\xff\xff\xff\xff0j\xff\xff\xff\xff."
    assert clew_load(archive_of(body)) == 7


def test_records_that_lie_on_top_of_each_other_are_refused() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as target:
        target.writestr("archive/data.pkl", b"\x80\x02N.")
        target.writestr("archive/data/0", bytes(100_000))
        first = target.getinfo("archive/data/0")
        for number in range(1, 100):
            again = zipfile.ZipInfo(f"archive/data/{number}")
            for field in ("CRC", "compress_size", "file_size", "header_offset"):
                setattr(again, field, getattr(first, field))
            target.filelist.append(again)
    with pytest.raises(RuntimeError, match="its records are larger than the file"):
        clew_load(buffer.getvalue())


def test_a_record_that_unpacks_to_far_too_much_is_refused() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as target:
        target.writestr("archive/data.pkl", b"\x80\x02N.")
        target.getinfo("archive/data.pkl").file_size = 1 << 40
    with pytest.raises(RuntimeError, match="its compressed records would unpack to 1099511627776 "):
        clew_load(buffer.getvalue())
