# expect: nothing
# Multi-task heads in a ModuleDict with per-batch choice of one task.

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Linear(6, 16)
        self.heads = nn.ModuleDict({"a": nn.Linear(16, 1), "b": nn.Linear(16, 3)})

    def forward(self, x, task):
        return self.heads[task](torch.relu(self.trunk(x)))


torch.manual_seed(0)
net = Net()
opt = torch.optim.Adam(net.parameters(), 2e-3)
lossf = {"a": nn.MSELoss(), "b": nn.CrossEntropyLoss()}
for it in range(40):
    task = "ab"[it % 2]
    x = torch.randn(32, 6)
    y = x.mean(1, keepdim=True) if task == "a" else x[:, :3].argmax(1)
    opt.zero_grad(set_to_none=True)
    lossf[task](net(x, task), y).backward()
    opt.step()
