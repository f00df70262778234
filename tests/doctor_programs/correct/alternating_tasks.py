# expect: nothing
# Each batch belongs to one task, the other task's head gets no gradient in that step.

import torch
import torch.nn.functional as F
from torch import nn


class MultiTask(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 32), nn.ReLU())
        self.heads = nn.ModuleDict({"sign": nn.Linear(32, 2), "size": nn.Linear(32, 1)})

    def forward(self, x, task):
        return self.heads[task](self.body(x))


torch.manual_seed(220)
model = MultiTask()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
history = {"sign": [], "size": []}
for step in range(80):
    x = torch.randn(32, 6)
    task = "sign" if step % 2 == 0 else "size"
    output = model(x, task)
    if task == "sign":
        loss = F.cross_entropy(output, (x.sum(1) > 0).long())
    else:
        loss = F.mse_loss(output, x.abs().mean(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history[task].append(loss.item())
print("size", history["size"][0], history["size"][-1])
print("sign", history["sign"][0], history["sign"][-1])
