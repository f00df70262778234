"""`SummaryWriter`: what a training run reports, in files that TensorBoard reads."""

from __future__ import annotations

import itertools
import os
import socket
import time
from collections.abc import Sequence
from datetime import datetime
from importlib import import_module
from types import TracebackType
from typing import Any
from urllib.parse import quote

import numpy as np

from clew import errors
from clew.core.tensor import Tensor
from clew.utils.tensorboard import events, media, plugins
from clew.utils.tensorboard.summary import hparams

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

    def add_summary(
        self, summary: Sequence[events.Message], global_step: Any = None, walltime: Any = None
    ) -> None:
        """Write what a function of `torch.utils.tensorboard.summary` gives."""
        self.add(global_step, walltime, *summary)

    def add_graph(self, nodes: events.Message) -> None:
        """Write the graph of a model."""
        self._file.write(events.record(events.graph(time.time(), nodes)))
        self.flush()

    def flush(self) -> None:
        self._file.flush()
        self._waiting, self._flushed_at = 0, time.time()

    def close(self) -> None:
        self._file.close()


class SummaryWriter:
    """Writes what a run reports to a folder, `runs/...` by default."""

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
            more = self.max_queue, self.flush_secs, self.filename_suffix
            self.all_writers[folder] = FileWriter(folder, *more)
        return self.all_writers[folder]

    def _get_file_writer(self) -> FileWriter:
        return self._writer(self.log_dir)

    def _add(self, step: Any, walltime: float | None, *values: events.Message) -> None:
        self._get_file_writer().add(step, walltime, *values)

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

    def add_image_with_boxes(
        self,
        tag: str,
        img_tensor: Any,
        box_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        rescale: float = 1,
        dataformats: str = "CHW",
        labels: Any = None,
    ) -> None:
        """An image with boxes, each given by two corners (x, y); labels are not drawn."""
        pixels = _pixels(to_array(img_tensor), dataformats).copy()
        height, width, channels = pixels.shape
        colour = np.array([255, 0, 0, 255][:channels], np.uint8)
        for left, top, right, bottom in to_array(box_tensor).astype(np.int64):
            rows = slice(max(top, 0), max(bottom, 0) + 1)
            columns = slice(max(left, 0), max(right, 0) + 1)
            for row in (top, bottom):
                if 0 <= row < height:
                    pixels[row, columns] = colour
            for column in (left, right):
                if 0 <= column < width:
                    pixels[rows, column] = colour
        self._add(global_step, walltime, events.image(tag, pixels))

    def add_video(
        self,
        tag: str,
        vid_tensor: Any,
        global_step: Any = None,
        fps: float = 4,
        walltime: float | None = None,
    ) -> None:
        """Moving pictures of shape (N, T, C, H, W), beside each other: bytes, or floats to 1."""
        array = to_array(vid_tensor)
        frames = np.stack(
            [
                _grid([_pixels(video[time], "CHW") for video in array])
                for time in range(array.shape[1])
            ]
        )
        data = media.gif_bytes(frames, fps)
        self._add(global_step, walltime, events.video(tag, frames.shape[1:], data))

    def add_audio(
        self,
        tag: str,
        snd_tensor: Any,
        global_step: Any = None,
        sample_rate: int = 44100,
        walltime: float | None = None,
    ) -> None:
        """A sound: numbers from -1 to 1, so many of them a second."""
        samples = to_array(snd_tensor).astype(np.float64).squeeze()
        if samples.ndim != 1:
            raise AssertionError("input tensor should be 1 dimensional." + errors.at_user_line())
        data = media.wav_bytes(samples, sample_rate)
        self._add(global_step, walltime, events.audio(tag, sample_rate, len(samples), data))

    def add_tensor(
        self, tag: str, tensor: Any, global_step: Any = None, walltime: float | None = None
    ) -> None:
        """A tensor as it is."""
        message = {1: tag, 8: plugins.tensor(to_array(tensor))}
        self._add(global_step, walltime, message)

    def add_pr_curve(
        self,
        tag: str,
        labels: Any,
        predictions: Any,
        global_step: Any = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Precision over recall: labels are 0 or 1, predictions between them."""
        weights = None if weights is None else to_array(weights)
        data = plugins.counts(
            to_array(labels), to_array(predictions), min(num_thresholds, 127), weights
        )
        self._add(global_step, walltime, plugins.pr_curve(tag, data))

    def add_pr_curve_raw(
        self,
        tag: str,
        true_positive_counts: Any,
        false_positive_counts: Any,
        true_negative_counts: Any,
        false_negative_counts: Any,
        precision: Any,
        recall: Any,
        global_step: Any = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """The same from counts, one for each threshold."""
        rows = (
            true_positive_counts, false_positive_counts, true_negative_counts,
            false_negative_counts, precision, recall,
        )  # fmt: skip
        data = np.stack([to_array(each) for each in rows])
        self._add(global_step, walltime, plugins.pr_curve(tag, data))

    def add_mesh(
        self,
        tag: str,
        vertices: Any,
        colors: Any = None,
        faces: Any = None,
        config_dict: dict[str, Any] | None = None,
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Points or a surface in space: vertices (B, N, 3), colours (B, N, 3), faces (B, M, 3)."""
        parts = {"VERTEX": to_array(vertices).astype(np.float32)}
        if faces is not None:
            parts["FACE"] = to_array(faces).astype(np.int32)
        if colors is not None:
            parts["COLOR"] = to_array(colors).astype(np.int32)
        self._add(global_step, walltime, *plugins.mesh(tag, parts, config_dict))

    def add_custom_scalars(self, layout: dict[str, dict[str, Sequence[Any]]]) -> None:
        """Charts of several curves: {category: {title: ["Multiline" or "Margin", [tags]]}}."""
        self._add(None, None, plugins.layout(layout))

    def add_custom_scalars_multilinechart(
        self, tags: Sequence[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """One chart of several curves."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(
        self, tags: Sequence[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """One chart of a curve between two others."""
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    def add_embedding(
        self,
        mat: Any,
        metadata: Sequence[Any] | None = None,
        label_img: Any = None,
        global_step: Any = None,
        tag: str = "default",
        metadata_header: Sequence[str] | None = None,
    ) -> None:
        """Points (N, D) for the projector, with labels and images (N, C, H, W) for them."""
        points = to_array(mat)
        if points.ndim != 2:
            raise AssertionError("mat should be 2D" + errors.at_user_line())
        folder = (
            f"{0 if global_step is None else int(_number(global_step)):05d}/{quote(tag, safe='')}"
        )
        place = os.path.join(self.log_dir, folder)
        files: dict[str, str | bytes] = {"tensors.tsv": plugins.table(points.tolist())}
        if metadata is not None:
            if len(metadata) != len(points):
                raise AssertionError(
                    "#labels should equal with #data points" + errors.at_user_line()
                )
            rows = [each if metadata_header else [each] for each in metadata]
            files["metadata.tsv"] = plugins.table(
                [metadata_header, *rows] if metadata_header else rows
            )
        size = None
        if label_img is not None:
            images = [_pixels(each, "CHW") for each in to_array(label_img)]
            if len(images) != len(points):
                raise AssertionError(
                    "#images should equal with #data points" + errors.at_user_line()
                )
            files["sprite.png"] = events.png_bytes(plugins.sprite(images))
            size = (images[0].shape[1], images[0].shape[0])
        os.makedirs(place, exist_ok=True)
        for name, data in files.items():
            with open(os.path.join(place, name), "wb") as file:
                file.write(data.encode() if isinstance(data, str) else data)
        entry = plugins.projection(f"{tag}:{folder[:5]}", folder, size, metadata is not None)
        with open(os.path.join(self.log_dir, "projector_config.pbtxt"), "a") as file:
            file.write(entry)

    def add_hparams(
        self,
        hparam_dict: dict[str, Any],
        metric_dict: dict[str, Any],
        hparam_domain_discrete: dict[str, list[Any]] | None = None,
        run_name: str | None = None,
        global_step: Any = None,
    ) -> None:
        """Settings and the numbers that they led to, as a run of its own, for the hparams page."""
        if not isinstance(hparam_dict, dict) or not isinstance(metric_dict, dict):
            raise TypeError(
                "hparam_dict and metric_dict should be dictionary." + errors.at_user_line()
            )
        messages = hparams(hparam_dict, metric_dict, hparam_domain_discrete)
        writer = self._writer(os.path.join(self.log_dir, run_name or str(time.time())))
        for message in messages:
            writer.add_summary(message)
        for name, value in metric_dict.items():
            writer.add(global_step, None, events.scalar(name, _number(value)))
        writer.flush()

    def add_graph(
        self,
        model: Any,
        input_to_model: Any = None,
        verbose: bool = False,
        use_strict_trace: bool = True,
    ) -> None:
        """The functions that a model calls for an example of its inputs, by its submodules."""
        args = input_to_model if isinstance(input_to_model, (tuple, list)) else (input_to_model,)
        nodes = import_module("clew.utils.tensorboard.model_graph").model_graph(model, tuple(args))
        if verbose:
            print("\n".join(f"{node[1]}: {node[2]}({', '.join(node[3])})" for node in nodes[1]))
        self._writer(self.log_dir).add_graph(nodes)

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
