# expect: param-not-in-optimizer line 12, 21
# The task heads live in a plain dict and are invisible to parameters().

import torch
from torch import nn


class MultiHead(nn.Module):
    def __init__(self, tasks, dim=16):
        super().__init__()
        self.shared = nn.Linear(6, dim)
        self.heads = {name: nn.Linear(dim, size) for name, size in tasks.items()}

    def forward(self, x):
        h = torch.tanh(self.shared(x))
        return {name: head(h) for name, head in self.heads.items()}


torch.manual_seed(314)
model = MultiHead({"sum": 1, "norm": 1})
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
x = torch.randn(100, 6)
targets = {"sum": x.sum(1, keepdim=True), "norm": x.norm(dim=1, keepdim=True)}
for epoch in range(15):
    outputs = model(x)
    loss = sum(nn.functional.mse_loss(outputs[k], targets[k]) for k in targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 5 == 0:
        print(epoch, loss.item())
