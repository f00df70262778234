"""What `SummaryWriter` writes, read back by TensorBoard's own reader."""

from __future__ import annotations

import io
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clew
from clew.utils.tensorboard import SummaryWriter
from clew.utils.tensorboard.media import gif_bytes

READER = "tensorboard is not installed: 20 MB with what it needs, which only this test uses"


def read(folder: Path) -> Any:
    accumulator = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator", reason=READER
    )
    found = accumulator.EventAccumulator(str(folder), size_guidance={"tensors": 0, "audio": 0})
    found.Reload()
    return found


def content(found: Any, tag: str) -> bytes:
    data: bytes = found.SummaryMetadata(tag).plugin_data.content
    return data


def test_hparams(tmp_path: Path) -> None:
    settings = {"lr": 0.1, "name": "a", "fast": True, "size": clew.tensor(3), "none": None}
    with SummaryWriter(tmp_path) as writer:
        writer.add_hparams(settings, {"loss": 0.5}, {"name": ["a", "b"]}, run_name="one")
        with pytest.raises(TypeError, match="hparam_dict and metric_dict should be dictionary"):
            writer.add_hparams([], {})  # type: ignore[arg-type]  # the mistake
        with pytest.raises(ValueError, match="value should be one of int, float, str, bool"):
            writer.add_hparams({"x": object()}, {})
    found = read(tmp_path / "one")
    data = pytest.importorskip("tensorboard.plugins.hparams.plugin_data_pb2").HParamsPluginData
    experiment = data.FromString(content(found, "_hparams_/experiment")).experiment
    assert [each.name for each in experiment.hparam_infos] == ["lr", "name", "fast", "size"]
    assert [v.string_value for v in experiment.hparam_infos[1].domain_discrete.values] == ["a", "b"]
    assert [each.name.tag for each in experiment.metric_infos] == ["loss"]
    start = data.FromString(content(found, "_hparams_/session_start_info")).session_start_info
    assert start.hparams["lr"].number_value == 0.1
    assert start.hparams["fast"].bool_value is True
    end = data.FromString(content(found, "_hparams_/session_end_info")).session_end_info
    assert end.status == 1
    assert found.Scalars("loss")[0].value == 0.5


def test_curves_meshes_layouts(tmp_path: Path) -> None:
    labels = clew.tensor([0, 1, 1, 0, 1])
    predictions = clew.tensor([0.1, 0.9, 0.4, 0.6, 0.8])
    with SummaryWriter(tmp_path) as writer:
        writer.add_pr_curve("pr", labels, predictions, num_thresholds=11)
        writer.add_mesh("mesh", clew.rand(1, 4, 3), faces=clew.tensor([[[0, 1, 2]]]))
        writer.add_custom_scalars(
            {"all": {"two": ["Multiline", ["a", "b"]], "one": ["Margin", ["a", "b", "c"]]}}
        )
        writer.add_tensor("tensor", clew.arange(6.0).view(2, 3))
    found = read(tmp_path)
    make = pytest.importorskip("tensorboard.util.tensor_util").make_ndarray
    curve = make(found.Tensors("pr")[0].tensor_proto)
    assert curve.shape == (6, 11)
    # Above 0.5 lie two of three ones, and one of two zeros.
    assert curve[:, 5].tolist()[:4] == [2.0, 1.0, 1.0, 1.0]
    assert curve[4, 5] == pytest.approx(2 / 3)
    assert curve[5, 5] == pytest.approx(2 / 3)
    parts = pytest.importorskip("tensorboard.plugins.mesh.plugin_data_pb2").MeshPluginData
    mesh = parts.FromString(content(found, "mesh_FACE"))
    assert (mesh.name, mesh.content_type, list(mesh.shape)) == ("mesh", 2, [1, 1, 3])
    assert mesh.components == 1 << 1 | 1 << 2
    layouts = pytest.importorskip("tensorboard.plugins.custom_scalar.layout_pb2").Layout
    text = found.Tensors("custom_scalars__config__")[0].tensor_proto.string_val[0]
    charts = layouts.FromString(text).category[0].chart
    assert list(charts[0].multiline.tag) == ["a", "b"]
    assert charts[1].margin.series[0].upper == "c"
    assert make(found.Tensors("tensor")[0].tensor_proto).tolist() == [[0, 1, 2], [3, 4, 5]]


def test_sound_and_pictures(tmp_path: Path) -> None:
    sound = clew.linspace(-1, 1, 100)
    video = (clew.arange(2 * 5 * 3 * 4 * 6) % 256).view(2, 5, 3, 4, 6).to(clew.uint8)
    with SummaryWriter(tmp_path) as writer:
        writer.add_audio("sound", sound, sample_rate=8000)
        writer.add_video("video", video, fps=5)
        writer.add_image_with_boxes("box", clew.zeros(3, 8, 8), clew.tensor([[1, 1, 5, 6]]))
    found = read(tmp_path)
    audio = found.Audio("sound")[0]
    assert (audio.sample_rate, audio.length_frames) == (8000, 100)
    with wave.open(io.BytesIO(audio.encoded_audio_string)) as file:
        samples = np.frombuffer(file.readframes(100), "<i2")
    np.testing.assert_allclose(samples / 32767, sound.numpy(), atol=1e-4)
    image = found.Images("video")[0]
    assert (image.height, image.width) == (4, 12)
    assert image.encoded_image_string.startswith(b"GIF89a")
    assert (found.Images("box")[0].height, found.Images("box")[0].width) == (8, 8)


def test_gif_is_readable() -> None:
    pictures = pytest.importorskip("PIL.Image", reason="Pillow reads the file back")
    frames = np.random.default_rng(0).integers(0, 256, (3, 20, 31, 3)).astype(np.uint8)
    file = pictures.open(io.BytesIO(gif_bytes(frames, 4)))
    assert (file.n_frames, file.size) == (3, (31, 20))
    for number in range(3):
        file.seek(number)
        read_back = np.asarray(file.convert("RGB")).astype(int)
        assert np.abs(read_back - frames[number].astype(int)).max() <= 26


def test_graph(tmp_path: Path) -> None:
    model = clew.nn.Sequential(clew.nn.Linear(4, 3), clew.nn.ReLU(), clew.nn.Linear(3, 2))
    with SummaryWriter(tmp_path) as writer:
        writer.add_graph(model, clew.ones(5, 4))
    graph = read(tmp_path).Graph()
    nodes = {node.name: node for node in graph.node}
    assert nodes["Sequential/0/linear"].op == "aten::linear"
    assert list(nodes["Sequential/0/linear"].input) == [
        "input/0", "Sequential/0/weight", "Sequential/0/bias",
    ]  # fmt: skip
    assert list(nodes["output/0"].input) == ["Sequential/2/linear"]
    shape = nodes["Sequential/1/relu"].attr["_output_shapes"].list.shape[0]
    assert [dim.size for dim in shape.dim] == [5, 3]


def test_embedding(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_embedding(
            clew.rand(5, 3), list("abcde"), clew.rand(5, 3, 4, 4), global_step=7, tag="words/x"
        )
        with pytest.raises(AssertionError, match="#labels should equal with #data points"):
            writer.add_embedding(clew.rand(5, 3), ["a"])
    config = pytest.importorskip(
        "tensorboard.plugins.projector.projector_config_pb2", reason=READER
    ).ProjectorConfig()
    parse = pytest.importorskip("google.protobuf.text_format").Parse
    parse((tmp_path / "projector_config.pbtxt").read_text(), config)
    (entry,) = config.embeddings
    assert entry.tensor_name == "words/x:00007"
    rows = (tmp_path / entry.tensor_path).read_text().splitlines()
    assert len(rows) == 5 and len(rows[0].split("\t")) == 3
    assert (tmp_path / entry.metadata_path).read_text().split() == list("abcde")
    assert list(entry.sprite.single_image_dim) == [4, 4]
    assert (tmp_path / entry.sprite.image_path).read_bytes().startswith(b"\x89PNG")
