# expect: dead-relu or bad-init line 12, 18, 19, 24, 26
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(29)


def init_weights(m):
    if isinstance(m, nn.Linear):
        nn.init.kaiming_normal_(m.weight, nonlinearity="relu")
        nn.init.constant_(m.bias, -8.0)


class Deep(nn.Module):
    def __init__(self, depth=8, width=48):
        super().__init__()
        self.inp = nn.Linear(7, width)
        self.hidden = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.out = nn.Linear(width, 3)
        self.apply(init_weights)

    def forward(self, x):
        x = F.relu(self.inp(x))
        for layer in self.hidden:
            x = F.relu(layer(x))
        return self.out(x)


x = torch.randn(200, 7)
y = (x @ torch.randn(7, 3)).argmax(1)
net = Deep()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(8):
    for i in torch.randperm(200).split(40):
        opt.zero_grad()
        loss = F.cross_entropy(net(x[i]), y[i])
        loss.backward()
        opt.step()
print(loss.item())
