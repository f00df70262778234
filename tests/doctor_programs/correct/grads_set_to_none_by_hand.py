# expect: nothing
# Gradients are cleared by assigning None, and two models share one loop.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(527)
models = {k: nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 2)) for k in ("a", "b")}
optimizers = {k: torch.optim.Adam(m.parameters(), lr=1e-2) for k, m in models.items()}
x = torch.randn(80, 5)
y = (x[:, 0] > 0).long()
history = {"a": [], "b": []}
for _ in range(30):
    for name, model in models.items():
        for p in model.parameters():
            p.grad = None
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizers[name].step()
        history[name].append(loss.item())
print(history["a"][0], history["a"][-1])
print(history["b"][0], history["b"][-1])
