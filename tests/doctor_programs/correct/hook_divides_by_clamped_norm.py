# expect: nothing
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(8)


def unit_length(grad):
    return grad / grad.norm(dim=1, keepdim=True).clamp(min=1e-6)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, 24)
        self.second = nn.Linear(24, 1)

    def forward(self, x):
        h = torch.relu(self.first(x))
        if h.requires_grad:
            h.register_hook(unit_length)
        return self.second(h).squeeze(1)


model = Encoder()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
x, y = torch.randn(64, 6), torch.randn(64)
for step in range(12):
    error = (model(x) - y).abs() - 0.2
    loss = error.clamp(min=0).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
