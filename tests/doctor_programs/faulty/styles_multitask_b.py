# expect: zero-grad-before-step line 35
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(22)


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(10, 40), nn.ReLU(), nn.Linear(40, 20), nn.ReLU())
        self.age = nn.Linear(20, 1)
        self.kind = nn.Linear(20, 4)
        self.log_var = nn.Parameter(torch.zeros(2))

    def forward(self, x):
        f = self.trunk(x)
        return self.age(f).squeeze(-1), self.kind(f)


x = torch.randn(240, 10)
age = x[:, 0] * 2 + x[:, 1]
kind = x[:, 2:6].argmax(1)
model = Shared()
opt = torch.optim.RMSprop(model.parameters(), lr=2e-3)
for epoch in range(4):
    for i in torch.randperm(240).split(40):
        a, k = model(x[i])
        opt.zero_grad()
        l_age = F.smooth_l1_loss(a, age[i])
        l_kind = F.cross_entropy(k, kind[i])
        w = torch.exp(-model.log_var)
        (w[0] * l_age + model.log_var[0]).backward(retain_graph=True)
        opt.zero_grad()
        (w[1] * l_kind + model.log_var[1]).backward()
        opt.step()
print(l_age.item(), l_kind.item())
