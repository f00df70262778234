# expect: nothing
import torch
import torch.nn as nn
import torch.nn.functional as F

# One network, trained in several honest ways.
torch.manual_seed(17)
x = torch.randn(192, 9)
y = (x[:, 0] * x[:, 1] > 0).long()


class Highway(nn.Module):
    def __init__(self, d, depth):
        super().__init__()
        self.inp = nn.Linear(9, d)
        self.h = nn.ModuleList(nn.Linear(d, d) for _ in range(depth))
        self.t = nn.ModuleList(nn.Linear(d, d) for _ in range(depth))
        for t in self.t:
            nn.init.constant_(t.bias, -1.0)
        self.out = nn.Linear(d, 2)

    def forward(self, x):
        x = torch.tanh(self.inp(x))
        for h, t in zip(self.h, self.t):
            g = torch.sigmoid(t(x))
            x = g * torch.relu(h(x)) + (1 - g) * x
        return self.out(x)


net = Highway(20, 6)
opt = torch.optim.LBFGS(net.parameters(), lr=0.5, max_iter=5, history_size=5)
for epoch in range(10):

    def closure():
        opt.zero_grad()
        total = 0.0
        for part in range(0, 192, 64):
            piece = F.cross_entropy(net(x[part : part + 64]), y[part : part + 64]) / 3
            piece.backward()
            total += piece.item()
        return total
    loss = torch.as_tensor(opt.step(closure))
print(loss.item())
