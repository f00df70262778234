# expect: vanishing-gradient line 28, 47
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(17)


class GCNLayer(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.lin = nn.Linear(i, o)
        self.skip = nn.Linear(i, o, bias=False)

    def forward(self, h, adj):
        return self.lin(adj @ h) + self.skip(h)


class GCN(nn.Module):
    def __init__(self, depth=3):
        super().__init__()
        sizes = [8] + [24] * depth
        self.layers = nn.ModuleList(GCNLayer(a, b) for a, b in zip(sizes, sizes[1:]))
        self.out = nn.Linear(24, 3)

    def forward(self, x, adj):
        for layer in self.layers:
            x = torch.sigmoid(layer(x, adj))
        return self.out(x)


def normalized(edges, n):
    a = torch.zeros(n, n)
    a[edges[0], edges[1]] = 1
    a = ((a + a.t()) > 0).float() + torch.eye(n)
    d = a.sum(1).rsqrt()
    return d[:, None] * a * d[None, :]


n = 90
label = torch.arange(n) % 3
x = F.one_hot(label, 8).float() * 0.5 + torch.randn(n, 8)
src = torch.randint(0, n, (300,))
dst = (src + 3 * torch.randint(1, 30, (300,))) % n
adj = normalized((src, dst), n)
train_mask = torch.rand(n) < 0.6
net = GCN(depth=12)
opt = torch.optim.Adam(net.parameters(), lr=1e-2, weight_decay=5e-4)
for epoch in range(25):
    net.train()
    opt.zero_grad()
    logits = net(x, adj)
    loss = F.cross_entropy(logits[train_mask], label[train_mask])
    loss.backward()
    opt.step()
net.eval()
with torch.no_grad():
    acc = (net(x, adj).argmax(1) == label)[~train_mask].float().mean()
print(acc.item())
