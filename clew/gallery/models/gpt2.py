"""GPT-2, with weights in the layout of Hugging Face's files.

`GPT2.from_file` reads a `model.safetensors` of any of OpenAI's sizes: names, shapes and all. Put
one at clew-gallery/gpt2.safetensors, and it is used; otherwise a small one is made here with random
weights, written and read. Text is made with a cache of keys and values, so that each new token
costs one position and not all of them: the same tokens as without, in a fraction of the time. The
last part teaches the model a sentence: the gradients flow through all that was loaded.
"""

import time
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

import clew as torch
from clew.gallery import helper

nn, F = torch.nn, torch.nn.functional
HEAD = 64  # the size of a head, in all sizes of GPT-2


class Conv1D(nn.Module):
    """A linear layer whose weight is inputs × outputs, as GPT-2's files have it."""

    def __init__(self, inputs: int, outputs: int):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(inputs, outputs).normal_(std=0.02))
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x):
        return torch.addmm(self.bias, x.reshape(-1, x.shape[-1]), self.weight).reshape(
            *x.shape[:-1], -1
        )


class Attention(nn.Module):
    def __init__(self, size: int):
        super().__init__()
        self.c_attn, self.c_proj = Conv1D(size, 3 * size), Conv1D(size, size)

    def forward(self, x, past):
        batch, length, size = x.shape
        parts = self.c_attn(x).reshape(batch, length, 3, size // HEAD, HEAD)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        if past is not None:
            key, value = (torch.cat(pair, dim=2) for pair in zip(past, (key, value)))
        seen = F.scaled_dot_product_attention(query, key, value, is_causal=past is None)
        return self.c_proj(seen.transpose(1, 2).reshape(batch, length, size)), (key, value)


class MLP(nn.Module):
    def __init__(self, size: int):
        super().__init__()
        self.c_fc, self.c_proj = Conv1D(size, 4 * size), Conv1D(4 * size, size)

    def forward(self, x):
        return self.c_proj(F.gelu(self.c_fc(x), approximate="tanh"))


class Block(nn.Module):
    def __init__(self, size: int):
        super().__init__()
        self.ln_1, self.attn = nn.LayerNorm(size), Attention(size)
        self.ln_2, self.mlp = nn.LayerNorm(size), MLP(size)

    def forward(self, x, past):
        seen, present = self.attn(self.ln_1(x), past)
        x = x + seen
        return x + self.mlp(self.ln_2(x)), present


class GPT2(nn.Module):
    """The names of modules are those of the file."""

    def __init__(self, tokens: int, context: int, size: int, layers: int):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(tokens, size), nn.Embedding(context, size)
        self.h = nn.ModuleList([Block(size) for _ in range(layers)])
        self.ln_f = nn.LayerNorm(size)
        for table in (self.wte, self.wpe):
            nn.init.normal_(table.weight, std=0.02)

    @classmethod
    def from_file(cls, path: Path):
        """The model of a file, in the size that the file has."""
        arrays = {name.removeprefix("transformer."): v for name, v in load_file(path).items()}
        # Masks, which are no weights, and the head, which is the table of tokens once more.
        state = {
            name: torch.from_numpy(value) for name, value in arrays.items()
            if not name.endswith((".attn.bias", ".attn.masked_bias")) and name != "lm_head.weight"
        }  # fmt: skip
        (tokens, size), context = state["wte.weight"].shape, state["wpe.weight"].shape[0]
        layers = 1 + max(int(name.split(".")[1]) for name in state if name.startswith("h."))
        model = cls(tokens, context, size, layers)
        model.load_state_dict(state)  # strict: no name may be missing, and none be left
        return model

    def forward(self, index, past=None):
        """Scores of the next token at each place; and the keys and values, for `past`."""
        begun = 0 if past is None else past[0][0].shape[2]
        x = self.wte(index) + self.wpe(torch.arange(begun, begun + index.shape[1]))
        present = []
        for number, block in enumerate(self.h):
            x, kept = block(x, None if past is None else past[number])
            present.append(kept)
        return self.ln_f(x) @ self.wte.weight.T, present

    @torch.no_grad()
    def write(self, index, count: int, cached: bool):
        """Go on with the likeliest tokens."""
        scores, past = self(index)
        for number in range(count):
            index = torch.cat([index, scores[:, -1:].argmax(dim=2)], dim=1)
            if number + 1 < count:
                scores, past = self(index[:, -1:], past) if cached else self(index)
        return index


def make_file(path: Path, tokens: int, context: int, size: int, layers: int) -> None:
    """A file of random weights with the names that Hugging Face's have, masks included."""
    model = GPT2(tokens, context, size, layers)
    state = {f"transformer.{name}": v.numpy() for name, v in model.state_dict().items()}
    mask = np.tril(np.ones((1, 1, context, context), np.float32))
    state |= {f"transformer.h.{i}.attn.bias": mask for i in range(layers)}
    save_file(state | {"lm_head.weight": state["transformer.wte.weight"].copy()}, path)


def teach(model, index, steps: int) -> list[float]:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    losses = []
    bar = helper.progress(range(steps), "fine-tuning")
    for _ in bar:
        optimizer.zero_grad()
        scores, _ = model(index[:, :-1])
        loss = F.cross_entropy(scores.flatten(0, 1), index[:, 1:].flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        bar.say(f"loss {losses[-1]:.3f}")
    return losses


def main(fast: bool, seed: int, out: Path) -> dict[str, float]:
    torch.manual_seed(seed)
    path = out / "gpt2.safetensors"
    given = path.exists()
    if not given:
        make_file(path, *((64, 48, 64, 2) if fast else (1000, 256, 256, 6)))
    model = GPT2.from_file(path).eval()
    if not given:
        path.unlink()
    tokens, context = len(model.wte.weight), len(model.wpe.weight)
    begin = torch.randint(0, tokens, (1, 8))
    count = min(context - 8, 32 if fast else 120)
    seconds, written = {}, {}
    for name, cached in (("whole", False), ("cached", True)):
        started = time.perf_counter()
        written[name] = model.write(begin, count, cached)
        seconds[name] = time.perf_counter() - started
    print(f"  {count} tokens: {seconds['whole']:.2f} s, with the cache {seconds['cached']:.2f} s")
    with torch.no_grad():
        index = written["whole"]
        _, past = model(index[:, :-1])
        last, _ = model(index[:, -1:], past)
        away = (last[:, -1] - model(index)[0][:, -1]).abs().max().item()
    sentence = torch.randint(0, tokens, (1, 24))
    losses = teach(model, sentence, 40 if fast else 60)
    said = model.write(sentence[:, :4], 20, cached=True)
    helper.chart(
        out / "gpt2.svg", {"loss": losses}, "GPT-2 learns a sentence", "step", "loss", log=True
    )
    return {
        "parameters": sum(each.numel() for each in model.parameters()),
        "same tokens with the cache": (written["whole"] == written["cached"]).float().mean().item(),
        "same scores with the cache": float(away < 1e-3),
        "loss at first": losses[0],
        "loss at the end": losses[-1],
        "accuracy of the sentence it learned": (said == sentence).float().mean().item(),
    }


def claims(figures, fast):
    same, near = (
        figures[name] for name in ("same tokens with the cache", "same scores with the cache")
    )
    yield f"with the cache it writes {same:.0%} of the same tokens", same == 1 and near == 1
    first, last = figures["loss at first"], figures["loss at the end"]
    learned = figures["accuracy of the sentence it learned"]
    yield (
        f"a sentence is learned: loss {first:.2f}, then {last:.3f}; it says {learned:.0%} of it",
        last < (0.5 if fast else 0.2) * first and learned > 0.9,
    )


if __name__ == "__main__":
    raise SystemExit(helper.run(main, claims))
