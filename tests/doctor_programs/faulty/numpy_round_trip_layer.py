# expect: detached-graph line 18, 19
# The middle of forward() goes through NumPy and back; the first layer gets no gradient.

import numpy as np
import torch
from torch import nn


class SpectralNet(nn.Module):
    """Projects, takes the magnitude of the spectrum, classifies."""

    def __init__(self, length=16, hidden=12, classes=2):
        super().__init__()
        self.project = nn.Linear(length, hidden)
        self.classify = nn.Sequential(nn.Linear(hidden, 16), nn.ReLU(), nn.Linear(16, classes))

    def spectrum(self, h):
        values = np.abs(np.fft.fft(h.detach().numpy(), axis=1))
        return torch.from_numpy(values).float()

    def forward(self, x):
        h = self.project(x)
        return self.classify(self.spectrum(h))


def main():
    torch.manual_seed(31)
    t = torch.linspace(0, 6.28, 16)
    freq = torch.randint(1, 4, (100, 1)).float()
    x = torch.sin(freq * t) + 0.1 * torch.randn(100, 16)
    y = (freq.squeeze(1) > 1.5).long()
    net = SpectralNet()
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    for step in range(20):
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 5 == 0:
            print(step, loss.item())


main()
