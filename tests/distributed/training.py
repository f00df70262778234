"""Models and data for the equality of many ranks with one: N ranks must do what one rank does
with the N-fold batch, to rounding."""

import functools

import torch
from torch import nn

STEPS, BATCH = 20, 8


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))
        self.out = nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x):
        h = self.norm1(x)
        # Of all heads, or of those that this rank has; the length is that of the whole sequence.
        q, k, v = (
            part(h).unflatten(-1, (-1, x.shape[2] // self.heads)).transpose(1, 2)
            for part in (self.q, self.k, self.v)
        )
        a = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(a.transpose(1, 2).flatten(2))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


class GPT(nn.Module):
    def __init__(self, vocabulary: int = 16, width: int = 16, depth: int = 2, heads: int = 4):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.blocks = nn.ModuleList([Block(width, heads) for _ in range(depth)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def mlp():
    return nn.Sequential(
        nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 4)
    )


def cnn(norm=nn.BatchNorm2d):
    return nn.Sequential(
        nn.Conv2d(2, 6, 3, padding=1), norm(6), nn.ReLU(), nn.Conv2d(6, 8, 3), norm(8), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4),
    )  # fmt: skip


def make(name: str):
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    return {"mlp": mlp, "cnn": cnn, "gpt": GPT}[name]()


def batch(name: str, step: int):
    """The whole batch of a step."""
    generator = torch.Generator().manual_seed(1000 + step)
    if name == "gpt":
        tokens = torch.randint(16, (BATCH, 9), generator=generator)
        return tokens[:, :-1], tokens[:, 1:]
    shape = (BATCH, 6) if name == "mlp" else (BATCH, 2, 7, 7)
    x = torch.randn(shape, generator=generator)
    return x, torch.randint(4, (BATCH,), generator=generator)


def loss_of(outputs, targets):
    return nn.functional.cross_entropy(outputs.flatten(0, -2), targets.flatten())


def share(tensor, rank: int, size: int):
    """A rank's part of a batch."""
    return tensor.chunk(size)[rank]


def optimizer_of(parameters, kind: str = "adamw"):
    if kind == "sgd":
        return torch.optim.SGD(parameters, lr=0.05, momentum=0.9, weight_decay=0.01)
    return torch.optim.AdamW(parameters, lr=0.01, eps=1e-3)


@functools.cache
def train_alone(name: str, kind: str = "adamw", steps: int = STEPS):
    """What one rank does with whole batches: the model and its optimizer."""
    model = make(name)
    optimizer = optimizer_of(model.parameters(), kind)
    for step in range(steps):
        x, y = batch(name, step)
        optimizer.zero_grad()
        loss_of(model(x), y).backward()
        optimizer.step()
    return model, optimizer


def assert_close(found, expected, what: str) -> None:
    assert tuple(found.shape) == tuple(expected.shape), (what, found.shape, expected.shape)
    error = (found - expected).abs().max().item() if found.numel() else 0.0
    assert error < 1e-9, (what, error)


def same_states(found, expected) -> None:
    """State dicts with the same names and, to rounding, the same numbers."""
    assert list(found) == list(expected), (list(found), list(expected))
    for name, value in expected.items():
        assert_close(found[name], value, name)


def same_optimizers(found, expected) -> None:
    """State dicts of optimizers with the same numbers."""
    assert found["state"].keys() == expected["state"].keys()
    for index, state in expected["state"].items():
        for name, value in state.items():
            assert_close(torch.as_tensor(found["state"][index][name]), torch.as_tensor(value), name)
