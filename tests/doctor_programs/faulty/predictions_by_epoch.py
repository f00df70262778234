# expect: graph-leak line 22
# Outputs are collected per epoch for a later confusion matrix, with their graphs.

import clew as torch
from clew import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3))
opt = torch.optim.SGD(model.parameters(), lr=0.05)
record = {}
x = torch.randn(120, 8)
y = x[:, :3].argmax(1)


def run_epoch(epoch):
    for i in range(0, 120, 12):
        logits = model(x[i : i + 12])
        loss = nn.functional.cross_entropy(logits, y[i : i + 12])
        opt.zero_grad()
        loss.backward()
        opt.step()
        record.setdefault(epoch, []).append(logits)


for epoch in range(5):
    run_epoch(epoch)
    acc = (torch.cat(record[epoch]).argmax(1) == y).float().mean()
    print(epoch, acc.item())
