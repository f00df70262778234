# expect: param-not-in-optimizer line 22, 27
# The optimizer was built from the trainable parameters before the backbone was unfrozen.

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU())
        self.fc = nn.Linear(16, 4)

    def forward(self, x):
        return self.fc(self.backbone(x))


torch.manual_seed(21)
model = Net()
for p in model.backbone.parameters():
    p.requires_grad_(False)
optimizer = torch.optim.Adam(filter(lambda p: p.requires_grad, model.parameters()), lr=1e-3)
data = torch.utils.data.TensorDataset(torch.randn(80, 8), torch.randint(0, 4, (80,)))
for epoch in range(10):
    if epoch == 3:
        for p in model.backbone.parameters():
            p.requires_grad = True
    for xb, yb in torch.utils.data.DataLoader(data, batch_size=20, shuffle=True):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(xb), yb)
        loss.backward()
        optimizer.step()
    print(epoch, round(loss.item(), 3))
