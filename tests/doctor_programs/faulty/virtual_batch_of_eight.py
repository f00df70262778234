# expect: accumulation-not-averaged line 13, 14, 16
# A "virtual batch": eight samples are back-propagated one after the other.

import clew as torch
from clew import nn


def virtual_batch(net, optimizer, rows, targets):
    optimizer.zero_grad()
    losses = []
    for row, target in zip(rows, targets):
        out = net(row.unsqueeze(0))
        loss = nn.functional.mse_loss(out, target.unsqueeze(0))
        loss.backward()
        losses.append(loss.item())
    optimizer.step()
    return sum(losses) / len(losses)


torch.manual_seed(11)
net = nn.Sequential(nn.Linear(4, 10), nn.Tanh(), nn.Linear(10, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.02)
mix = torch.randn(4, 2)
for _ in range(30):
    rows = torch.randn(8, 4)
    value = virtual_batch(net, optimizer, rows, rows @ mix)
print("final", value)
