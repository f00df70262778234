# expect: zero-grad-before-step line 16
# Logging the gradient norm also resets the gradients.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(2)


def grad_norm_and_reset(module):
    total = 0.0
    for p in module.parameters():
        if p.grad is not None:
            total += p.grad.norm().item() ** 2
    module.zero_grad(set_to_none=True)
    return total**0.5


model = nn.Sequential(nn.Conv1d(2, 8, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(80, 3))
optim = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(25):
    signal = torch.randn(16, 2, 10)
    target = signal.mean(dim=(1, 2)).sign().long() + 1
    optim.zero_grad()
    loss = F.cross_entropy(model(signal), target)
    loss.backward()
    norm = grad_norm_and_reset(model)
    optim.step()
    if step % 5 == 0:
        print(f"{step:3d} loss={loss.item():.3f} |g|={norm:.3f}")
