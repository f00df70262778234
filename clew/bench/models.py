"""The networks of the benchmarks, each written once against a torch-like module `t`.

A maker gives the network with data of its own, its loss and its optimizer.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Training:
    """A network at work: `forward` on its data, `loss` of what that gives, and the optimizer."""

    model: Any
    forward: Callable[[], Any]
    loss: Callable[[Any], Any]
    optimizer: Any
    # The batch that it is trained on: inputs, then targets.
    data: tuple[Any, ...]


def train_step(training: Training) -> Callable[[], Any]:
    """Clears the gradients, then forward, backward and optimizer; gives the loss."""

    def step() -> Any:
        training.optimizer.zero_grad()
        value = training.loss(training.forward())
        value.backward()
        training.optimizer.step()
        return value

    return step


def mlp(first: int, second: int, third: int, batch: int) -> Callable[[Any], Training]:
    """Three linear layers with relu, into ten classes; Adam."""

    def make(t: Any) -> Training:
        nn = t.nn
        model = nn.Sequential(
            nn.Linear(first, second), nn.ReLU(), nn.Linear(second, third), nn.ReLU(),
            nn.Linear(third, 10),
        )  # fmt: skip
        return _classifier(t, model, (batch, first), t.optim.Adam(model.parameters(), lr=1e-3))

    return make


def cnn(t: Any) -> Training:
    """Two blocks of convolution, batch norm, relu and pooling, then a convolution; 32×32, b64."""
    nn = t.nn
    model = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(64, 128, 3, padding=1), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10),
    )  # fmt: skip
    optimizer = t.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    return _classifier(t, model, (64, 3, 32, 32), optimizer)


def resnet18(t: Any) -> Training:
    """ResNet-18's shape for 32×32 images, batch 16."""
    nn, relu = t.nn, t.nn.functional.relu

    class Block(nn.Module):  # type: ignore[name-defined]  # a variable as a base class
        def __init__(self, inner: int, outer: int, stride: int) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(inner, outer, 3, stride, 1, bias=False)
            self.norm1 = nn.BatchNorm2d(outer)
            self.conv2 = nn.Conv2d(outer, outer, 3, 1, 1, bias=False)
            self.norm2 = nn.BatchNorm2d(outer)
            self.short = nn.Identity()
            if stride != 1 or inner != outer:
                conv = nn.Conv2d(inner, outer, 1, stride, bias=False)
                self.short = nn.Sequential(conv, nn.BatchNorm2d(outer))

        def forward(self, x: Any) -> Any:
            out = relu(self.norm1(self.conv1(x)))
            return relu(self.norm2(self.conv2(out)) + self.short(x))

    layers = [nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU()]
    width = 64
    for outer, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        layers += [Block(width, outer, stride), Block(outer, outer, 1)]
        width = outer
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))
    optimizer = t.optim.SGD(model.parameters(), lr=0.001, momentum=0.9)
    return _classifier(t, model, (16, 3, 32, 32), optimizer)


def gpt(
    width: int, layers: int, length: int, batch: int, heads: int, checkpoint: bool = False
) -> Callable[[Any], Training]:
    """A small GPT over 65 characters, AdamW; with `checkpoint`, blocks run again in backward."""

    def make(t: Any) -> Training:
        model = _gpt_class(t)(width, layers, length, heads, checkpoint)
        optimizer = t.optim.AdamW(model.parameters(), lr=1e-3)
        x = t.randint(0, 65, (batch, length))
        y = t.randint(0, 65, (batch, length))
        cross_entropy = t.nn.functional.cross_entropy
        return Training(
            model,
            lambda: model(x),
            lambda out: cross_entropy(out.view(-1, 65), y.view(-1)),
            optimizer,
            (x, y),
        )

    return make


def _gpt_class(t: Any) -> Any:
    nn, functional = t.nn, t.nn.functional
    checkpoint = import_module(f"{t.__name__}.utils.checkpoint").checkpoint

    class Block(nn.Module):  # type: ignore[name-defined]  # a variable as a base class
        def __init__(self, width: int, heads: int) -> None:
            super().__init__()
            self.heads = heads
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x: Any) -> Any:
            batch, length, width = x.shape
            parts = self.qkv(self.norm1(x)).split(width, dim=2)
            shape = (batch, length, self.heads, width // self.heads)
            q, k, v = (part.view(shape).transpose(1, 2) for part in parts)
            mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            mixed = mixed.transpose(1, 2).contiguous().view(batch, length, width)
            x = x + self.out(mixed)
            return x + self.down(functional.gelu(self.up(self.norm2(x))))

    class GPT(nn.Module):  # type: ignore[name-defined]  # a variable as a base class
        def __init__(
            self, width: int, layers: int, length: int, heads: int, checkpoint: bool
        ) -> None:
            super().__init__()
            self.checkpoint = checkpoint
            self.tokens, self.places = nn.Embedding(65, width), nn.Embedding(length, width)
            self.blocks = nn.ModuleList([Block(width, heads) for _ in range(layers)])
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 65, bias=False)

        def forward(self, index: Any) -> Any:
            x = self.tokens(index) + self.places(t.arange(index.shape[1]))
            for block in self.blocks:
                if self.checkpoint:
                    x = checkpoint(block, x, use_reentrant=False)
                else:
                    x = block(x)
            return self.head(self.norm(x))

    return GPT


def reader(kind: str) -> Callable[[Any], Training]:
    """Two recurrent layers of 256, 64 steps, batch 32, Adam."""

    def make(t: Any) -> Training:
        nn = t.nn

        class Reader(nn.Module):  # type: ignore[name-defined]  # a variable as a base class
            def __init__(self) -> None:
                super().__init__()
                self.layers = getattr(nn, kind)(256, 256, 2, batch_first=True)
                self.out = nn.Linear(256, 10)

            def forward(self, x: Any) -> Any:
                return self.out(self.layers(x)[0][:, -1])

        model = Reader()
        optimizer = t.optim.Adam(model.parameters(), lr=1e-3)
        return _classifier(t, model, (32, 64, 256), optimizer)

    return make


def vae(t: Any) -> Training:
    """784-400-20-400-784, batch 128, Adam."""
    nn, functional = t.nn, t.nn.functional
    encoder, decoder = nn.Linear(784, 400), nn.Linear(20, 400)
    mean_of, log_of, out_of = nn.Linear(400, 20), nn.Linear(400, 20), nn.Linear(400, 784)
    model = nn.ModuleList([encoder, decoder, mean_of, log_of, out_of])
    x = t.rand(128, 784)

    def forward() -> Any:
        hidden = functional.relu(encoder(x))
        mean, log = mean_of(hidden), log_of(hidden)
        z = mean + t.randn_like(mean) * (0.5 * log).exp()
        return t.sigmoid(out_of(functional.relu(decoder(z)))), mean, log

    def loss(out: Any) -> Any:
        image, mean, log = out
        divergence = -0.5 * t.sum(1 + log - mean.pow(2) - log.exp())
        return functional.binary_cross_entropy(image, x, reduction="sum") + divergence

    return Training(model, forward, loss, t.optim.Adam(model.parameters(), lr=1e-3), (x,))


def dqn(t: Any) -> Training:
    """4-128-128-2, batch 128, Adam."""
    nn = t.nn
    model = nn.Sequential(
        nn.Linear(4, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 2)
    )
    states, actions, returns = t.randn(128, 4), t.randint(0, 2, (128, 1)), t.randn(128)

    def loss(out: Any) -> Any:
        return nn.functional.smooth_l1_loss(out.gather(1, actions).squeeze(1), returns)

    optimizer = t.optim.Adam(model.parameters(), lr=1e-3)
    data = states, actions, returns
    return Training(model, lambda: model(states), loss, optimizer, data)


def _classifier(t: Any, model: Any, shape: tuple[int, ...], optimizer: Any) -> Training:
    x, y = t.randn(*shape), t.randint(0, 10, (shape[0],))
    cross_entropy = t.nn.functional.cross_entropy
    return Training(model, lambda: model(x), lambda out: cross_entropy(out, y), optimizer, (x, y))


MODELS: dict[str, Callable[[Any], Training]] = {
    "mlp": mlp(784, 512, 256, batch=64),
    "cnn": cnn,
    "resnet18": resnet18,
    "gpt_d64": gpt(64, 2, 32, 8, 4),
    "gpt_d128": gpt(128, 4, 128, 8, 4),
    "gpt_d384": gpt(384, 6, 256, 4, 6),
    "lstm": reader("LSTM"),
    "vae": vae,
    "dqn": dqn,
}

# For the grad modes: small, where the work around the arithmetic shows most, and medium.
NETWORKS: dict[str, Callable[[Any], Training]] = {
    "mlp_small": mlp(32, 32, 32, batch=8),
    "mlp_medium": mlp(256, 256, 256, batch=64),
    "transformer_small": gpt(32, 2, 16, 4, 4),
    "transformer_medium": gpt(128, 4, 64, 8, 4),
}

# The same network with everything kept for backward, and with its blocks checkpointed.
CHECKPOINTED: dict[str, tuple[Callable[[Any], Training], Callable[[Any], Training]]] = {
    "transformer_8": (gpt(128, 8, 128, 8, 4), gpt(128, 8, 128, 8, 4, checkpoint=True)),
}
