"""TensorBoard's files: protocol buffers, written by hand, inside checksummed records.

A message is a dict from field numbers to values. The class of a value says how it is written:
`int` as a varint, `Double` and `Float` as fixed bytes, `bytes`, `str` and dicts after their length,
a list as a field that occurs several times, `Packed` doubles as one field.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Message = Mapping[int, Any]


class Double(float):
    """A number of eight bytes."""


class Float(float):
    """A number of four bytes."""


class Packed(tuple[float, ...]):
    """Numbers of eight bytes in one field."""


_VARINT, _EIGHT_BYTES, _LENGTH, _FOUR_BYTES = 0, 1, 2, 5


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1  # negative numbers are written as their two's complement
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _field(number: int, value: Any) -> bytes:
    if isinstance(value, Double):
        return _varint(number << 3 | _EIGHT_BYTES) + struct.pack("<d", value)
    if isinstance(value, Float):
        return _varint(number << 3 | _FOUR_BYTES) + struct.pack("<f", value)
    if isinstance(value, int):
        return _varint(number << 3 | _VARINT) + _varint(value)
    if isinstance(value, list):
        return b"".join(_field(number, each) for each in value)
    if isinstance(value, Packed):
        body = struct.pack(f"<{len(value)}d", *value)
    elif isinstance(value, Mapping):
        body = encode(value)
    else:
        body = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | _LENGTH) + _varint(len(body)) + body


def encode(message: Message) -> bytes:
    """The bytes of a message; a field that is None is left out."""
    return b"".join(_field(number, value) for number, value in message.items() if value is not None)


# -- records -------------------------------------------------------------------------------------


def _crc_table() -> list[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


_CRC_TABLE = _crc_table()


def masked_crc(data: bytes) -> int:
    """CRC-32C (Castagnoli), rotated and shifted as TensorFlow's records have it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _CRC_TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def record(data: bytes) -> bytes:
    """Data with its length, and checksums of both."""
    length = struct.pack("<Q", len(data))
    return b"".join(
        (length, struct.pack("<I", masked_crc(length)), data, struct.pack("<I", masked_crc(data)))
    )


# -- what TensorBoard shows ------------------------------------------------------------------------


def version(wall_time: float) -> bytes:
    """The event that a file begins with."""
    return encode({1: Double(wall_time), 3: "brain.Event:2"})


def event(wall_time: float, step: int | None, *values: Message) -> bytes:
    """Values at a step."""
    return encode({1: Double(wall_time), 2: step, 5: {1: list(values)}})


def graph(wall_time: float, nodes: Message) -> bytes:
    """The graph of a model."""
    return encode({1: Double(wall_time), 4: encode(nodes)})


def audio(tag: str, rate: int, length: int, data: bytes) -> Message:
    """A sound of one channel, as a WAV file."""
    return {1: tag, 6: {1: Float(rate), 2: 1, 3: length, 4: data, 5: "audio/wav"}}


def video(tag: str, shape: Sequence[int], data: bytes) -> Message:
    """A moving picture of a height, a width and channels, as a GIF."""
    height, width, channels = shape
    return {1: tag, 4: {1: height, 2: width, 3: channels, 4: data}}


def scalar(tag: str, value: float) -> Message:
    return {1: tag, 2: Float(value)}


def _plugin(name: str) -> Message:
    return {1: {1: name}}


def text(tag: str, content: str) -> Message:
    strings, one = 7, {2: [{1: 1}]}
    tensor = {1: strings, 2: one, 8: [content]}
    return {1: f"{tag}/text_summary", 8: tensor, 9: _plugin("text")}


def histogram(tag: str, values: np.ndarray, bins: str | int | Sequence[float]) -> Message:
    """Counts of values, in a `numpy.histogram` with the given bins."""
    values = values.astype(np.float64).ravel()
    counts, edges = np.histogram(values, bins=bins)
    # The first bucket ends where the first bin begins: nothing lies below.
    return {
        1: tag,
        5: {
            1: Double(values.min()),
            2: Double(values.max()),
            3: Double(values.size),
            4: Double(values.sum()),
            5: Double(values @ values),
            6: Packed(edges.tolist()),
            7: Packed([0.0, *counts.tolist()]),
        },
    }


def image(tag: str, pixels: np.ndarray) -> Message:
    """An image of height, width and 1, 3 or 4 channels of bytes."""
    height, width, channels = pixels.shape
    return {1: tag, 4: {1: height, 2: width, 3: channels, 4: png_bytes(pixels)}}


_PNG_KINDS = {1: 0, 3: 2, 4: 6}  # by channels: grey, colours, colours with transparency


def png_bytes(pixels: np.ndarray) -> bytes:
    """A PNG file of height, width and 1, 3 or 4 channels of bytes."""
    height, width, channels = pixels.shape
    head = struct.pack(">IIBBBBB", width, height, 8, _PNG_KINDS[channels], 0, 0, 0)
    # Each row begins with the number of its filter, 0 for none.
    rows = np.zeros((height, 1 + width * channels), np.uint8)
    rows[:, 1:] = pixels.reshape(height, -1)
    body = zlib.compress(rows.tobytes())
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in ((b"IHDR", head), (b"IDAT", body), (b"IEND", b""))
    )
