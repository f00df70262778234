"""An LSTM on a long text, by truncated backpropagation through time.

The text is cut into windows. The state goes from one window to the next as a value, and its history
ends there (`detach`): backward never goes further than a window, so that a step costs the same at
the end of the text as at its start. A network whose state is cleared at each window must guess the
first characters of all of them.
"""

import math
from pathlib import Path

import numpy as np

import clew as torch
from clew.gallery import helper

nn, F = torch.nn, torch.nn.functional
WINDOW, STREAMS, FIRST = 32, 16, 4


class Reader(nn.Module):
    """The next character, from a state that has seen those before."""

    def __init__(self, characters: int, size: int):
        super().__init__()
        self.table = nn.Embedding(characters, size)
        self.lstm = nn.LSTM(size, size)
        self.head = nn.Linear(size, characters)

    def forward(self, index, state):
        seen, state = self.lstm(self.table(index), state)
        return self.head(seen), state


def windows(text):
    """The text as streams side by side, in windows: each with the same moved by a character."""
    length = (len(text) - 1) // (STREAMS * WINDOW) * WINDOW
    x, y = (text[i : i + STREAMS * length].reshape(STREAMS, length).T for i in (0, 1))
    return [
        (torch.from_numpy(x[i : i + WINDOW].copy()), torch.from_numpy(y[i : i + WINDOW].copy()))
        for i in range(0, length, WINDOW)
    ]


def train(model, text, epochs: int, carried: bool):
    """The loss of each window, in bits, and how many steps of the graph the last one had."""
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    parts = windows(text)
    losses = []
    bar = helper.progress(range(epochs * len(parts)), "carried" if carried else "cleared")
    state = None
    for number in bar:
        x, y = parts[number % len(parts)]
        if not carried or number % len(parts) == 0:
            state = None
        optimizer.zero_grad()
        scores, state = model(x, state)
        state = tuple(part.detach() for part in state)  # a value from here on
        loss = F.cross_entropy(scores.flatten(0, 1), y.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item() / math.log(2))
        bar.say(f"{losses[-1]:.2f} bits")
    return losses


@torch.no_grad()
def bits(model, text, carried: bool) -> tuple[float, float]:
    """Bits for each character: of the first few of each window, and of all others."""
    state, first, others = None, [], []
    for x, y in windows(text):
        scores, state = model(x, state if carried else None)
        each = F.cross_entropy(scores.flatten(0, 1), y.flatten(), reduction="none")
        each = each.reshape(y.shape) / math.log(2)
        first.append(each[:FIRST].mean().item())
        others.append(each[FIRST:].mean().item())
    return float(np.mean(first)), float(np.mean(others))


def reach(model, text, detached: bool) -> int:
    """How many windows back a loss has a gradient, of three."""
    state, inputs = None, []
    for x, _ in windows(text)[:3]:
        inputs.append(model.table(x).detach().requires_grad_())
        seen, state = model.lstm(inputs[-1], state)
        if detached:
            last, state = seen, tuple(part.detach() for part in state)
    found = torch.autograd.grad((last if detached else seen)[-1].sum(), inputs, allow_unused=True)
    return sum(gradient is not None for gradient in found)


def main(fast: bool, seed: int, out: Path) -> dict[str, float]:
    characters = helper.library_text(16_000 if fast else 200_000)
    alphabet = sorted(set(characters))
    text = np.array([alphabet.index(c) for c in characters])
    text, unseen = text[: -len(text) // 5], text[-len(text) // 5 :]
    figures, curves = {}, {}
    for name in ("carried", "cleared"):
        torch.manual_seed(seed)
        model = Reader(len(alphabet), 48 if fast else 128)
        curves[name] = train(model, text, 3, name == "carried")
        first, others = bits(model, unseen, name == "carried")
        figures[f"{name}: bits, first of a window"] = first
        figures[f"{name}: bits, others"] = others
    figures["windows with a gradient, truncated"] = reach(model, text, True)
    figures["windows with a gradient, otherwise"] = reach(model, text, False)
    helper.chart(
        out / "lstm.svg", {f"state {name}": curve for name, curve in curves.items()},
        "An LSTM on Python's standard library", "window", "bits for each character",
    )  # fmt: skip
    return figures


def claims(figures, fast):
    carried, cleared = (figures[f"{n}: bits, first of a window"] for n in ("carried", "cleared"))
    yield (
        f"first characters of a window: {carried:.2f} bits, with the state cleared {cleared:.2f}",
        carried < cleared - (0.05 if fast else 0.2),
    )
    truncated, whole = (
        figures[f"windows with a gradient, {way}"] for way in ("truncated", "otherwise")
    )
    yield (
        f"a gradient reaches {truncated:.0f} window, without detach all {whole:.0f}",
        truncated == 1 and whole == 3,
    )


if __name__ == "__main__":
    raise SystemExit(helper.run(main, claims))
