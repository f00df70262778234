"""Sounds and moving pictures as files: WAV and GIF."""

from __future__ import annotations

import io
import struct
import wave

import numpy as np


def wav_bytes(samples: np.ndarray, rate: int) -> bytes:
    """A WAV file of numbers from -1 to 1, one channel of 16 bits."""
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(rate)
        sound.writeframes((samples.clip(-1, 1) * 32767).astype("<i2").tobytes())
    return file.getvalue()


# Six levels of red, seven of green, six of blue: 252 colours for all frames.
_LEVELS = (6, 7, 6)
# Codes have nine bits as long as the table of strings is begun anew after so many.
_RUN = 250


def gif_bytes(frames: np.ndarray, fps: float) -> bytes:
    """A GIF of frames: time, height, width and 1, 3 or 4 channels of bytes."""
    frames = np.repeat(frames, 3, -1) if frames.shape[-1] == 1 else frames[..., :3]
    _, height, width, _ = frames.shape
    axes = [np.linspace(0, 255, n).round().astype(np.uint8) for n in _LEVELS]
    palette = np.zeros((256, 3), np.uint8)
    palette[:252] = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 3)
    size = struct.pack("<HH", width, height)
    parts = [b"GIF89a", size, b"\xf7\x00\x00", palette.tobytes(), _FOREVER]
    delay = struct.pack("<H", max(1, round(100 / fps)))
    for frame in frames:
        red, green, blue = (
            (frame[..., channel].astype(np.int64) * (n - 1) + 127) // 255
            for channel, n in enumerate(_LEVELS)
        )
        parts += [b"\x21\xf9\x04\x00", delay, b"\x00\x00", b"\x2c\x00\x00\x00\x00", size, b"\x00"]
        parts.append(_coded(((red * 7 + green) * 6 + blue).ravel()))
    return b"".join([*parts, b"\x3b"])


_FOREVER = b"\x21\xff\x0bNETSCAPE2.0\x03\x01\x00\x00\x00"


def _coded(indices: np.ndarray) -> bytes:
    """Indices in GIF's form of LZW, each by itself."""
    clear, end = 256, 257
    codes: list[np.ndarray] = []
    for start in range(0, len(indices), _RUN):
        codes += [np.array([clear]), indices[start : start + _RUN]]
    joined = np.concatenate([*codes, np.array([end])])
    bits = (joined[:, None] >> np.arange(9) & 1).astype(np.uint8).ravel()
    data = np.packbits(bits, bitorder="little").tobytes()
    blocks = [data[start : start + 255] for start in range(0, len(data), 255)]
    return b"\x08" + b"".join(bytes([len(each)]) + each for each in blocks) + b"\x00"
