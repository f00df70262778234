"""A character GPT that learns the source of Python's standard library, and writes while it learns.

A decoder-only transformer: each position looks at those before it (causal attention) and says which
character comes next. What it writes is printed as it learns: first the characters, then indentation
and words, then something like Python. Its loss on text that it has not seen is compared with what
counting pairs and triples of characters can do.

An interrupted run goes on from its last saved step when it is started again.
"""

import math
from pathlib import Path

import numpy as np

import clew as torch
from clew.gallery import helper

nn, F = torch.nn, torch.nn.functional


class Block(nn.Module):
    """Attention to what came before, then a layer for each position; both are added."""

    def __init__(self, size: int, heads: int):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(size), nn.LayerNorm(size)
        self.qkv, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.mlp = nn.Sequential(nn.Linear(size, 4 * size), nn.GELU(), nn.Linear(4 * size, size))

    def forward(self, x):
        batch, length, size = x.shape
        parts = self.qkv(self.norm1(x)).reshape(batch, length, 3, self.heads, size // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, length, size))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, characters: int, context: int, size: int, heads: int, layers: int):
        super().__init__()
        self.context = context
        self.characters = nn.Embedding(characters, size)
        self.places = nn.Embedding(context, size)
        self.blocks = nn.Sequential(*[Block(size, heads) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(size), nn.Linear(size, characters)
        for each in self.parameters():
            if each.dim() == 2:
                nn.init.normal_(each, std=0.02)

    def forward(self, index):
        x = self.characters(index) + self.places(torch.arange(index.shape[1]))
        return self.head(self.norm(self.blocks(x)))

    @torch.no_grad()
    def write(self, index, count: int):
        """Go on with a text of characters, each drawn as the model finds it likely."""
        for _ in range(count):
            scores = self(index[:, -self.context :])[:, -1]
            following = torch.multinomial(scores.softmax(dim=1), 1)
            index = torch.cat([index, following], dim=1)
        return index


def batch(text, count: int, length: int, rng):
    """Stretches of text, and the same moved by one character."""
    starts = rng.integers(0, len(text) - length - 1, count)
    stretches = np.stack([text[start : start + length + 1] for start in starts])
    return torch.from_numpy(stretches[:, :-1]), torch.from_numpy(stretches[:, 1:])


@torch.no_grad()
def bits(model, text, count: int) -> float:
    """Bits for each character of text that it has not seen."""
    x, y = batch(text, count, model.context, np.random.default_rng(0))
    return F.cross_entropy(model(x).flatten(0, 1), y.flatten()).item() / math.log(2)


def counted_bits(text, unseen, characters: int, before: int) -> float:
    """The same for a table that has counted which character follows the last few."""

    def rows(t):
        key = np.zeros(len(t) - before, dtype=np.int64)
        for place in range(before):
            key = key * characters + t[place : len(t) - before + place]
        return key, t[before:]

    table = np.full((characters**before, characters), 0.1)
    np.add.at(table, rows(text), 1)
    table /= table.sum(axis=1, keepdims=True)
    return float(-np.log2(table[rows(unseen)]).mean())


def train(model, text, decode, steps: int, seed: int, saved: Path) -> list[float]:
    """The loss on the way, in bits; a line that it writes is printed now and then."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
    losses = []
    if saved.exists():
        state = torch.load(saved)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["random"])
        losses = state["losses"]
    bar = helper.progress(range(len(losses), steps), "GPT")
    for step in bar:
        for group in optimizer.param_groups:
            group["lr"] = 2e-3 * min(1, (step + 1) / 20) * (1 - 0.9 * step / steps)
        x, y = batch(text, 16, model.context, np.random.default_rng((seed, step)))
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item() / math.log(2))
        if (step + 1) % (steps // 5) == 0:
            written = decode(model.write(x[:1, :8], 60)[0, 8:])
            print(f"  after {step + 1:4} steps, {losses[-1]:.2f} bits: {written!r}")
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
            torch.save(state | {"random": torch.get_rng_state(), "losses": losses}, saved)
        bar.say(f"{losses[-1]:.2f} bits")
    saved.unlink(missing_ok=True)
    return losses


def main(fast: bool, seed: int, out: Path) -> dict[str, float]:
    torch.manual_seed(seed)
    characters = helper.library_text(60_000 if fast else 400_000)
    alphabet = sorted(set(characters))
    text = np.array([alphabet.index(c) for c in characters])
    text, unseen = text[: -len(text) // 10], text[-len(text) // 10 :]
    sizes = (32, 32, 2, 1) if fast else (64, 96, 4, 3)
    model = GPT(len(alphabet), *sizes)

    def decode(index) -> str:
        return "".join(alphabet[i] for i in index.tolist())

    saved = out / f"char_gpt-{seed}{'-fast' if fast else ''}.pt"
    losses = train(model, text, decode, 150 if fast else 1500, seed, saved)
    print(decode(model.write(torch.from_numpy(text[:8])[None], 40 if fast else 400)[0]))
    helper.chart(
        out / "char_gpt.svg", {"bits": losses}, "A character GPT on Python's standard library",
        "step", "bits for each character",
    )  # fmt: skip
    return {
        "bits, GPT": bits(model, unseen, 64),
        **{
            f"bits, counted from {n} before": counted_bits(text, unseen, len(alphabet), n)
            for n in range(3)
        },
    }


def claims(figures, fast):
    own = figures["bits, GPT"]
    before = 0 if fast else 2
    counted = figures[f"bits, counted from {before} before"]
    yield (
        f"{own:.2f} bits for a character it has not seen; counting what follows {before} of them "
        f"needs {counted:.2f}",
        own < (0.9 if fast else 1) * counted,
    )


if __name__ == "__main__":
    raise SystemExit(helper.run(main, claims))
