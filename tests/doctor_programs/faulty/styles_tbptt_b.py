# expect: retain-graph-misuse or inplace-saved-tensor line 32, 35, 37
import torch
import torch.nn as nn

torch.manual_seed(5)


class Elman(nn.Module):
    def __init__(self, i=3, h=24):
        super().__init__()
        self.wx = nn.Linear(i, h)
        self.wh = nn.Linear(h, h)
        nn.init.orthogonal_(self.wh.weight)
        self.out = nn.Linear(h, 1)

    def forward(self, x, h):
        ys = []
        for t in range(x.size(1)):
            h = torch.tanh(self.wx(x[:, t]) + self.wh(h))
            ys.append(self.out(h))
        return torch.stack(ys, 1), h


series = torch.sin(torch.arange(0, 400).float()[None, :, None] * torch.tensor([[0.1], [0.2], [0.3]]).view(3, 1, 1) + torch.zeros(3, 1, 3))
series = series + 0.05 * torch.randn_like(series)
net = Elman()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
for epoch in range(2):
    h = torch.zeros(3, 24)
    for k in range(0, 380, 20):
        x, y = series[:, k : k + 20], series[:, k + 1 : k + 21, :1]
        pred, h = net(x, h)
        loss = (pred - y).pow(2).mean()
        opt.zero_grad()
        loss.backward(retain_graph=True)
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
print(loss.item())
