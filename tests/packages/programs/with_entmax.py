"""sparse attention weights and their loss"""

import torch
from entmax import entmax15, entmax15_loss, sparsemax

torch.manual_seed(0)
x = torch.randn(3, 5, requires_grad=True)
loss = (
    entmax15(x).square().sum()
    + sparsemax(x).square().sum()
    + entmax15_loss(x, torch.tensor([0, 1, 2])).mean()
)
loss.backward()
print(f"{loss.item():.5f} {x.grad.abs().sum().item():.5f}")
