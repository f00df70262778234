# expect: nothing
# A frozen feature extractor, for a saliency map at the end its parameters ask for gradients
# again.

import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(8, 16), nn.Tanh())
        self.fc = nn.Linear(16, 2)

    def forward(self, x):
        return self.fc(self.features(x))


net = Net()
net.features.requires_grad_(False)
opt = torch.optim.Adam(net.fc.parameters(), 5e-3)
x = torch.randn(60, 8)
y = (x[:, 0] > 0).long()
for _ in range(30):
    opt.zero_grad()
    nn.functional.cross_entropy(net(x), y).backward()
    opt.step()
net.requires_grad_(True)
net.zero_grad()
probe = x[:4].clone().requires_grad_(True)
net(probe)[:, 1].sum().backward()
print(probe.grad.abs().mean(0), net.features[0].weight.grad.norm())
