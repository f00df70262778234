# expect: step-before-backward line 16

import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 20), nn.ReLU(), nn.Linear(20, 3))
opt = optim.SGD(model.parameters(), lr=0.1)
crit = nn.CrossEntropyLoss()
x = torch.randn(90, 6)
y = torch.randint(0, 3, (90,))
for epoch in range(50):
    opt.zero_grad()
    loss = crit(model(x), y)
    opt.step()
    loss.backward()
    print("epoch", epoch, "loss", loss.item())
