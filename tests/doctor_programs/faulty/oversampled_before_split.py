# expect: data-leak line 19
# The rare class is duplicated before the split, copies of one row land on both sides.

import torch
from torch import nn

torch.manual_seed(152)
x = torch.randn(300, 5)
y = (x[:, 0] + x[:, 1] > 1.6).long()

rare = (y == 1).nonzero().squeeze(1)
repeats = rare.repeat(6)
x_balanced = torch.cat([x, x[repeats]])
y_balanced = torch.cat([y, y[repeats]])

order = torch.randperm(len(x_balanced))
cut = int(0.8 * len(order))
x_train, y_train = x_balanced[order[:cut]], y_balanced[order[:cut]]
x_test, y_test = x_balanced[order[cut:]], y_balanced[order[cut:]]

model = nn.Sequential(nn.Linear(5, 24), nn.ReLU(), nn.Linear(24, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(10):
    loss = nn.functional.cross_entropy(model(x_train), y_train)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
with torch.no_grad():
    accuracy = (model(x_test).argmax(1) == y_test).float().mean().item()
print("loss", loss.item(), "test accuracy", accuracy)
