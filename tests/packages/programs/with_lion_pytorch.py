"""lion-pytorch: the Lion optimizer."""

import torch
from lion_pytorch import Lion

torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = Lion(model.parameters(), lr=1e-2, weight_decay=1e-2)
x = torch.randn(16, 4)
for _ in range(5):
    loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.6f}")
