# expect: detached-graph line 27
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(9)


class HyperNet(nn.Module):
    def __init__(self, z=4, inp=3, hid=8):
        super().__init__()
        self.sizes = [(hid, inp), (hid,), (1, hid), (1,)]
        total = sum(torch.Size(s).numel() for s in self.sizes)
        self.body = nn.Sequential(nn.Linear(z, 32), nn.ReLU())
        self.weights = nn.Linear(32, total)
        self.task_norm = nn.LayerNorm(4)

    def forward(self, z, x):
        z = self.task_norm(z)
        flat = self.weights(self.body(z))
        parts, k = [], 0
        for s in self.sizes:
            n = torch.Size(s).numel()
            parts.append(flat[k : k + n].view(s))
            k += n
        w1, b1, w2, b2 = parts
        w1 = nn.Parameter(w1); b1 = nn.Parameter(b1); w2 = nn.Parameter(w2); b2 = nn.Parameter(b2)
        return F.linear(torch.tanh(F.linear(x, w1, b1)), w2, b2)


tasks = torch.randn(6, 4)
coef = torch.randn(6, 3)
net = HyperNet()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
for step in range(40):
    k = int(torch.randint(0, 6, ()))
    x = torch.randn(32, 3)
    y = torch.sin(x @ coef[k]).unsqueeze(1)
    loss = F.mse_loss(net(tasks[k], x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
