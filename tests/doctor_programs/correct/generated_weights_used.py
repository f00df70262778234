# expect: nothing
import torch
from torch import nn
import torch.nn.functional as F


class Generated(nn.Module):
    def __init__(self):
        super().__init__()
        self.maker = nn.Linear(2, 12)
        self.inner = nn.Linear(3, 4, bias=False).requires_grad_(False)
        self.last = nn.Linear(4, 1)

    def forward(self, task, x):
        w = self.maker(task).view(4, 3)
        h = torch.tanh(F.linear(x, w))
        return self.last(h).squeeze(1)


torch.manual_seed(1)
net = Generated()
start = net.maker.weight.detach().clone()
optimizer = torch.optim.Adam([p for p in net.parameters() if p.requires_grad], lr=5e-3)
for step in range(60):
    task, x = torch.randn(2), torch.randn(32, 3)
    loss = F.mse_loss(net(task, x), x[:, 0] * task[0] + x[:, 1] * task[1])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("maker moved by", (net.maker.weight - start).abs().max().item())
