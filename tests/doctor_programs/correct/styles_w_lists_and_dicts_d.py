# expect: nothing
import torch
import torch.nn as nn
import torch.nn.functional as F


class DenseBlock(nn.Module):
    """Each layer reads the outputs of all earlier ones."""

    def __init__(self, width, growth, depth):
        super().__init__()
        layers = {}
        for k in range(depth):
            layers[f"l{k}"] = nn.Linear(width + k * growth, growth)
        self.layers = nn.ModuleDict(layers)
        self.out_dim = width + depth * growth

    def forward(self, x):
        feats = [x]
        for name in sorted(self.layers):
            feats.append(F.elu(self.layers[name](torch.cat(feats, -1))))
        return torch.cat(feats, -1)


class Routed(nn.Module):
    def __init__(self, dim, experts=3):
        super().__init__()
        self.experts = nn.ModuleList(nn.Linear(dim, dim) for _ in range(experts))
        self.router = nn.Linear(dim, experts)
        self.gains = nn.ParameterList([nn.Parameter(torch.ones(dim)) for _ in range(experts)])

    def forward(self, x):
        w = self.router(x).softmax(-1)
        return sum(w[:, k : k + 1] * self.gains[k] * F.elu(e(x)) for k, e in enumerate(self.experts))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = DenseBlock(7, 8, 3)
        self.mid = nn.Linear(self.block.out_dim, 12)
        self.routed = Routed(12)
        self.head = nn.Linear(12, 1)

    def forward(self, x):
        return self.head(self.routed(self.mid(self.block(x)))).squeeze(-1)


torch.manual_seed(18)
w = torch.randn(7)
model = Model()
print(sum(p.numel() for p in model.parameters()), "weights")
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(30):
    x = torch.randn(64, 7)
    y = (x @ w).sin()
    loss = F.mse_loss(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if epoch == 10:
        with torch.no_grad():
            model.routed.gains[0].clamp_(0.2, 5.0)
print(loss.item())
