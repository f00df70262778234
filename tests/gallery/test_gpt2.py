"""The gallery's GPT-2 reads files in Hugging Face's layout, and computes what they mean."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import clew
from clew.gallery.models import gpt2


def by_hand(state: dict[str, np.ndarray], index: np.ndarray) -> np.ndarray:
    """The scores of GPT-2 for one text, from the weights of a file, in float64."""
    w = {name.removeprefix("transformer."): v.astype(np.float64) for name, v in state.items()}

    def norm(x: np.ndarray, name: str) -> np.ndarray:
        x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
        return x * w[f"{name}.weight"] + w[f"{name}.bias"]

    def linear(x: np.ndarray, name: str) -> np.ndarray:
        return x @ w[f"{name}.weight"] + w[f"{name}.bias"]

    x = w["wte.weight"][index] + w["wpe.weight"][: len(index)]
    hidden = np.triu(np.full((len(index), len(index)), -np.inf), 1)
    for layer in range(sum(name.endswith("ln_1.bias") for name in w)):
        at = f"h.{layer}"
        parts = linear(norm(x, f"{at}.ln_1"), f"{at}.attn.c_attn")
        heads = parts.reshape(len(index), 3, -1, gpt2.HEAD).transpose(1, 2, 0, 3)
        scores = heads[0] @ heads[1].transpose(0, 2, 1) / np.sqrt(gpt2.HEAD) + hidden
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        seen = shares / shares.sum(-1, keepdims=True) @ heads[2]
        x = x + linear(seen.transpose(1, 0, 2).reshape(len(index), -1), f"{at}.attn.c_proj")
        inner = linear(norm(x, f"{at}.ln_2"), f"{at}.mlp.c_fc")
        inner = 0.5 * inner * (1 + np.tanh(np.sqrt(2 / np.pi) * (inner + 0.044715 * inner**3)))
        x = x + linear(inner, f"{at}.mlp.c_proj")
    return norm(x, "ln_f") @ w["wte.weight"].T


@pytest.mark.parametrize("prefix", ["transformer.", ""])
def test_a_file_means_what_it_says(prefix: str, tmp_path: Path) -> None:
    """With the prefix that whole language models have, and without, as OpenAI's files."""
    clew.manual_seed(0)
    path = tmp_path / "model.safetensors"
    gpt2.make_file(path, tokens=50, context=20, size=128, layers=3)
    rng = np.random.default_rng(0)
    state = load_file(path)
    state = {
        name.replace("transformer.", prefix): value + rng.normal(size=value.shape, scale=0.1)
        for name, value in state.items() if name != "lm_head.weight"
    }  # fmt: skip
    state = {name: value.astype(np.float32) for name, value in state.items()}
    save_file(state, path)
    model = gpt2.GPT2.from_file(path)
    index = rng.integers(0, 50, 15)
    with clew.no_grad():
        scores, _ = model(clew.from_numpy(index)[None])
    plain = {name.removeprefix(prefix): value for name, value in state.items()}
    np.testing.assert_allclose(scores[0].numpy(), by_hand(plain, index), rtol=1e-4, atol=1e-4)


def test_a_file_that_lacks_a_weight_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    gpt2.make_file(path, 50, 20, 64, 1)
    state = load_file(path)
    del state["transformer.ln_f.weight"]
    save_file(state, path)
    with pytest.raises(RuntimeError, match=r"Missing key.*ln_f.weight"):
        gpt2.GPT2.from_file(path)


def test_a_file_that_is_given_is_used_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "gpt2.safetensors"
    gpt2.make_file(path, 40, 32, 64, 1)
    figures = gpt2.main(True, 0, tmp_path)
    assert figures["parameters"] == sum(
        value.size for name, value in load_file(path).items()
        if not name.endswith(".attn.bias") and name != "lm_head.weight"
    )  # fmt: skip
    assert path.exists()
