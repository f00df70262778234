# expect: fp16-underflow line 30, 32, 33
# float16 autocast without a GradScaler: the gradients of the small loss underflow.

import torch
import torch.nn.functional as F
from torch import nn


class Denoiser(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.a = nn.Linear(dim, 96)
        self.b = nn.Linear(96, dim)

    def forward(self, x):
        return self.b(F.relu(self.a(x)))


def noise_batch(n, dim=64):
    clean = torch.sin(torch.linspace(0, 6, dim)) * torch.rand(n, 1)
    return clean + 0.05 * torch.randn(n, dim), clean


torch.manual_seed(108)
model = Denoiser()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(20):
    noisy, clean = noise_batch(256)
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        output = model(noisy)
        loss = F.mse_loss(output, clean) * 1e-4
    loss.backward()
    optimizer.step()
    if step % 5 == 0:
        print(step, loss.item(), (model.a.weight.grad == 0).float().mean().item())
