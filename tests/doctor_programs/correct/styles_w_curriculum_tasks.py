# expect: nothing
import itertools
import torch
from torch import nn, optim
from torch.nn import functional as F


def stream(level, size):
    while True:
        n = 2 + level
        x = torch.zeros(size, 8)
        x[:, :n] = torch.randint(0, 2, (size, n)).float()
        yield x, x.sum(1).long() % 2


class Parity(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 2))

    def forward(self, x):
        return self.layers(x)


def micro(model, source, k):
    """Gradients of k micro-batches, averaged."""
    total = 0.0
    for x, y in itertools.islice(source, k):
        loss = F.cross_entropy(model(x), y) / k
        loss.backward()
        total += loss.item()
    return total


torch.manual_seed(13)
model = Parity()
opt = optim.Adam(model.parameters(), lr=2e-3)
for level in range(3):
    source = stream(level, 16)
    for update in range(15):
        opt.zero_grad(set_to_none=True)
        loss = micro(model, source, 4)
        opt.step()
    print(level, f"{loss:.4f}")
