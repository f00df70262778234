"""What TensorBoard's plugins read: hyperparameters, curves, meshes, layouts, projections."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from clew import errors
from clew.utils.tensorboard.events import Double, Message, encode

_FLOAT, _INT32, _STRING = 1, 3, 7


def summary(tag: str, tensor: Message | None, plugin: str, content: Message) -> Message:
    """A value for a plugin."""
    return {1: tag, 8: tensor, 9: {1: {1: plugin, 2: encode(content)}}}


def tensor(array: np.ndarray) -> Message:
    """An array as a message."""
    kind, wanted = (_FLOAT, "<f4") if array.dtype.kind == "f" else (_INT32, "<i4")
    shape = {2: [{1: int(n)} for n in array.shape]}
    return {1: kind, 2: shape, 4: np.ascontiguousarray(array, wanted).tobytes()}


# -- hyperparameters -------------------------------------------------------------------------------


def hparams(settings: dict[str, Any], metrics: Any, domains: Any) -> list[Message]:
    """The three values that describe an experiment with one run."""
    infos = [_info(name, value, (domains or {}).get(name)) for name, value in settings.items()]
    experiment = {4: infos, 5: [{1: {2: name}} for name in metrics]}
    start = {1: [{1: name, 2: _value(value)} for name, value in settings.items()]}
    contents: list[tuple[str, Message]] = [
        ("experiment", {2: experiment}), ("session_start_info", {3: start}),
        ("session_end_info", {4: {1: 1}}),
    ]  # fmt: skip
    return [summary(f"_hparams_/{name}", None, "hparams", each) for name, each in contents]


def _info(name: str, value: Any, domain: Any) -> Message:
    kind = 1 if isinstance(value, str) else 2 if isinstance(value, bool) else 3
    choices = {1: [_value(each) for each in domain]} if domain else None
    return {1: name, 4: kind, 5: choices}


def _value(value: Any) -> Message:
    if isinstance(value, str):
        return {3: value}
    if isinstance(value, bool):
        return {4: int(value)}
    if isinstance(value, (int, float)):
        return {2: Double(value)}
    raise ValueError(
        "value should be one of int, float, str, bool, or torch.Tensor" + errors.at_user_line()
    )


# -- curves of precision ---------------------------------------------------------------------------


def counts(
    labels: np.ndarray, predictions: np.ndarray, thresholds: int, weights: Any
) -> np.ndarray:
    """For each threshold: true and false positives, true and false negatives, both measures."""
    share = np.ones(labels.shape) if weights is None else np.asarray(weights, float)
    bucket = np.floor(predictions * (thresholds - 1)).astype(np.int64)
    found = []
    for kind in (labels.astype(float), 1.0 - labels.astype(float)):
        count, _ = np.histogram(
            bucket, bins=thresholds, range=(0, thresholds - 1), weights=kind * share
        )
        found.append(count[::-1].cumsum()[::-1])
    positive, wrong = found
    missed, negative = positive[0] - positive, wrong[0] - wrong
    precision = positive / np.maximum(1e-7, positive + wrong)
    recall = positive / np.maximum(1e-7, positive + missed)
    return np.stack([positive, wrong, negative, missed, precision, recall])


def pr_curve(tag: str, data: np.ndarray) -> Message:
    """A curve of precision over recall."""
    content = {2: data.shape[1]}
    return summary(tag, tensor(data.astype(np.float32)), "pr_curves", content)


# -- meshes ----------------------------------------------------------------------------------------

_MESH_PARTS = {"VERTEX": 1, "FACE": 2, "COLOR": 3}


def mesh(tag: str, parts: dict[str, np.ndarray], config: Any) -> list[Message]:
    """The parts of a mesh: vertices, faces, colours."""
    mask = sum(1 << _MESH_PARTS[name] for name in parts)
    text = json.dumps(config or {}, sort_keys=True)
    found = []
    for name, array in parts.items():
        content = {2: tag, 3: _MESH_PARTS[name], 5: text, 6: [int(n) for n in array.shape], 7: mask}
        found.append(summary(f"{tag}_{name}", tensor(array), "mesh", content))
    return found


# -- layouts ---------------------------------------------------------------------------------------


def layout(categories: dict[str, dict[str, Sequence[Any]]]) -> Message:
    """Which curves are shown in one chart."""
    written = []
    for category, charts in categories.items():
        made: list[Message] = []
        for title, (kind, tags) in charts.items():
            if kind == "Margin":
                if len(tags) != 3:
                    raise AssertionError("a margin has three tags" + errors.at_user_line())
                made.append({1: title, 3: {1: [{1: tags[0], 2: tags[1], 3: tags[2]}]}})
            else:
                made.append({1: title, 2: {1: list(tags)}})
        written.append({1: category, 2: made})
    content = {1: _STRING, 2: b"", 8: [encode({2: written})]}
    return {1: "custom_scalars__config__", 8: content, 9: {1: {1: "custom_scalars"}}}


# -- projections -----------------------------------------------------------------------------------


def table(rows: Any) -> str:
    """Rows of values, separated by tabs."""
    return "".join("\t".join(map(str, row)) + "\n" for row in rows)


def projection(name: str, folder: str, sprite: Sequence[int] | None, has_metadata: bool) -> str:
    """The entry of a projection in `projector_config.pbtxt`."""
    lines = ["embeddings {", f'tensor_name: "{name}"', f'tensor_path: "{folder}/tensors.tsv"']
    if has_metadata:
        lines.append(f'metadata_path: "{folder}/metadata.tsv"')
    if sprite is not None:
        lines += ["sprite {", f'image_path: "{folder}/sprite.png"']
        lines += [*(f"single_image_dim: {n}" for n in sprite), "}"]
    return "\n".join([*lines, "}", ""])


def sprite(images: list[np.ndarray]) -> np.ndarray:
    """Images of one size in a square."""
    height, width, channels = images[0].shape
    side = int(np.ceil(np.sqrt(len(images))))
    canvas = np.zeros((side * height, side * width, channels), np.uint8)
    for place, image in enumerate(images):
        row, column = divmod(place, side)
        canvas[row * height :, column * width :][:height, :width] = image
    return canvas
