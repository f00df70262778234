"""`SummaryWriter`: what a training run reports, in files that TensorBoard reads."""

from __future__ import annotations

import itertools
import os
import socket
import time
import warnings
from collections.abc import Sequence
from datetime import datetime
from types import TracebackType
from typing import Any

import numpy as np

from clew import errors
from clew.core.tensor import Tensor
from clew.source import user_stacklevel
from clew.utils.tensorboard import events

__all__ = ["FileWriter", "SummaryWriter"]

_file_numbers = itertools.count()


def to_array(value: Any) -> np.ndarray:
    """A tensor, array, number or list of numbers as an array."""
    if isinstance(value, Tensor):
        value = value.detach().float() if value.dtype.itemsize == 2 else value.detach()
        return value.cpu().numpy()
    return np.asarray(value)


def _number(value: Any) -> float:
    array = to_array(value).squeeze()
    if array.ndim:
        raise AssertionError("scalar should be 0D" + errors.at_user_line())
    return float(array)


class FileWriter:
    """One file of events in a folder."""

    def __init__(
        self,
        log_dir: str | os.PathLike[str],
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str = "",
    ) -> None:
        self._folder = os.fspath(log_dir)
        os.makedirs(self._folder, exist_ok=True)
        now = time.time()
        name = (
            f"events.out.tfevents.{int(now):010d}.{socket.gethostname()}.{os.getpid()}"
            f".{next(_file_numbers)}{filename_suffix}"
        )
        self._file = open(os.path.join(self._folder, name), "wb")  # noqa: SIM115  (closed below)
        self._waiting, self._max_queue = 0, max_queue
        self._flushed_at, self._flush_secs = now, flush_secs
        self._file.write(events.record(events.version(now)))
        self.flush()

    def get_logdir(self) -> str:
        return self._folder

    def add(self, step: Any, walltime: float | None, *values: events.Message) -> None:
        """Write values; they reach the disk when enough of them wait, or after a while."""
        now = time.time()
        number = None if step is None else int(_number(step))
        self._file.write(events.record(events.event(walltime or now, number, *values)))
        self._waiting += 1
        if self._waiting >= self._max_queue or now - self._flushed_at > self._flush_secs:
            self.flush()

    def flush(self) -> None:
        self._file.flush()
        self._waiting, self._flushed_at = 0, time.time()

    def close(self) -> None:
        self._file.close()


class SummaryWriter:
    """Writes scalars, texts, images and histograms to a folder, `runs/...` by default."""

    def __init__(
        self,
        log_dir: str | os.PathLike[str] | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str = "",
    ) -> None:
        if not log_dir:
            now = datetime.now().strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{now}_{socket.gethostname()}{comment}")
        self.log_dir = os.fspath(log_dir)
        self.purge_step, self.max_queue = purge_step, max_queue
        self.flush_secs, self.filename_suffix = flush_secs, filename_suffix
        self.all_writers: dict[str, FileWriter] = {}
        self.file_writer = self._writer(self.log_dir)

    def _writer(self, folder: str) -> FileWriter:
        """The writer of a folder; after `close` a new file is begun."""
        if folder not in self.all_writers:
            self.all_writers[folder] = FileWriter(
                folder, self.max_queue, self.flush_secs, self.filename_suffix
            )
        return self.all_writers[folder]

    def _add(self, step: Any, walltime: float | None, *values: events.Message) -> None:
        self._writer(self.log_dir).add(step, walltime, *values)

    def get_logdir(self) -> str:
        """The folder of the files."""
        return self.log_dir

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: Any = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """One number, of a curve over steps."""
        self._add(global_step, walltime, events.scalar(tag, _number(scalar_value)))

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: dict[str, Any],
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Numbers of curves that are shown in one diagram: each in a folder of its own."""
        for tag, value in tag_scalar_dict.items():
            folder = os.path.join(self.log_dir, f"{main_tag.replace('/', '_')}_{tag}")
            summary = events.scalar(main_tag, _number(value))
            self._writer(folder).add(global_step, walltime, summary)

    def add_text(
        self, tag: str, text_string: str, global_step: Any = None, walltime: float | None = None
    ) -> None:
        """A text, which is shown as Markdown."""
        self._add(global_step, walltime, events.text(tag, text_string))

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: Any = None,
        bins: str | int | Sequence[float] = "auto",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """How values are distributed; at most `max_bins` bins where that is given."""
        array = to_array(values)
        if array.size == 0:
            raise ValueError("The input has no element." + errors.at_user_line())
        # Many values are counted in a fixed number of bins: "auto" may choose millions.
        chosen = max_bins or 64 if isinstance(bins, str) else bins
        self._add(global_step, walltime, events.histogram(tag, array, chosen))

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """An image: bytes, or floats from 0 to 1; the letters name the dimensions."""
        pixels = _pixels(to_array(img_tensor), dataformats)
        self._add(global_step, walltime, events.image(tag, pixels))

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Several images in one, in a grid."""
        array = to_array(img_tensor)
        first = dataformats.upper().index("N")
        rest = dataformats.upper().replace("N", "")
        images = [_pixels(each, rest) for each in np.moveaxis(array, first, 0)]
        self._add(global_step, walltime, events.image(tag, _grid(images)))

    def add_figure(
        self,
        tag: str,
        figure: Any,
        global_step: Any = None,
        close: bool = True,
        walltime: float | None = None,
    ) -> None:
        """A figure of Matplotlib's, or several, as an image."""
        figures = figure if isinstance(figure, list | tuple) else [figure]
        images = []
        for each in figures:
            each.canvas.draw()
            images.append(np.asarray(each.canvas.buffer_rgba())[..., :3])
            if close:
                each.clear()
        self._add(global_step, walltime, events.image(tag, _grid(images)))

    def add_hparams(
        self,
        hparam_dict: dict[str, Any],
        metric_dict: dict[str, Any],
        hparam_domain_discrete: Any = None,
        run_name: str | None = None,
        global_step: Any = None,
    ) -> None:
        """Settings, as a text, and the numbers that they led to, in a folder of their own."""
        folder = os.path.join(self.log_dir, run_name or str(time.time()))
        table = "\n".join(f"| {name} | {value} |" for name, value in hparam_dict.items())
        writer = self._writer(folder)
        writer.add(global_step, None, events.text("hparams", f"| name | value |\n|--|--|\n{table}"))
        for name, value in metric_dict.items():
            writer.add(global_step, None, events.scalar(name, _number(value)))

    def add_graph(
        self,
        model: Any,
        input_to_model: Any = None,
        verbose: bool = False,
        use_strict_trace: bool = True,
    ) -> None:
        """Writes nothing, and warns: clew has no graphs of modules."""
        warnings.warn(
            "add_graph: clew has no graphs of modules, nothing is written",
            stacklevel=user_stacklevel(),
        )

    def flush(self) -> None:
        """Bring everything to the disk."""
        for writer in self.all_writers.values():
            writer.flush()

    def close(self) -> None:
        """Close the files; what is added later goes to new ones."""
        for writer in self.all_writers.values():
            writer.close()
        self.all_writers.clear()

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        place: TracebackType | None,
    ) -> None:
        self.close()


def _pixels(array: np.ndarray, dataformats: str) -> np.ndarray:
    """Bytes in the order height, width, channels."""
    letters = dataformats.upper()
    if len(letters) != array.ndim or set(letters) not in (set("CHW"), set("HW")):
        raise AssertionError(
            f"size of input tensor and input format are different. tensor shape: {array.shape}, "
            f"input_format: {dataformats}" + errors.at_user_line()
        )
    if "C" in letters:
        ordered = array.transpose([letters.index(each) for each in "HWC"])
    else:
        ordered = array[..., None] if letters == "HW" else array.T[..., None]
    if ordered.dtype != np.uint8:
        ordered = (ordered.astype(np.float32) * 255.0).clip(0, 255).astype(np.uint8)
    if ordered.shape[2] not in (1, 3, 4):
        raise ValueError(
            f"an image has 1, 3 or 4 channels, not {ordered.shape[2]}" + errors.at_user_line()
        )
    return ordered


def _grid(images: list[np.ndarray]) -> np.ndarray:
    """Images of one size beside and below each other, eight to a row."""
    height, width, channels = images[0].shape
    columns = min(8, len(images))
    rows = -(-len(images) // columns)
    canvas = np.zeros((rows * height, columns * width, channels), np.uint8)
    for place, image in enumerate(images):
        row, column = divmod(place, columns)
        canvas[row * height :, column * width :][:height, :width] = image
    return canvas
