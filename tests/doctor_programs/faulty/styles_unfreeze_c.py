# expect: param-not-in-optimizer line 41
import torch
import torch.nn as nn
import torch.nn.functional as F


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        self.layer1 = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.ReLU())
        self.layer2 = nn.Sequential(nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU())
        self.fc = nn.Linear(16, 10)

    def forward(self, x):
        x = F.relu(self.stem(x))
        x = self.layer2(self.layer1(x))
        return self.fc(x.mean((2, 3)))


def set_trainable(module, prefixes, flag):
    for name, p in module.named_parameters():
        if any(name.startswith(q) for q in prefixes):
            p.requires_grad = flag


def freeze_all(module):
    for p in module.parameters():
        p.requires_grad = False


torch.manual_seed(0)
net = Backbone()
freeze_all(net)
net.fc = nn.Linear(16, 4)
plan = {2: ["layer2"], 4: ["layer1"]}
groups = [
    {"params": net.fc.parameters(), "lr": 1e-2},
    {"params": net.layer2.parameters(), "lr": 1e-3},
]
opt = torch.optim.Adam(groups)
images = torch.rand(80, 3, 8, 8)
target = (images.mean((1, 2, 3)) * 4).long().clamp(0, 3)
for epoch in range(6):
    if epoch in plan:
        set_trainable(net, plan[epoch], True)
    for i in range(0, 80, 20):
        opt.zero_grad()
        loss = F.cross_entropy(net(images[i : i + 20]), target[i : i + 20])
        loss.backward()
        opt.step()
    print(epoch, loss.item())
