# expect: backward-twice line 12, 16
# Features of a trainable encoder are computed once for all epochs.

import clew as torch
from clew import nn

torch.manual_seed(0)
x = torch.randn(64, 6)
y = (x[:, 0] > 0).long()
enc, head = nn.Linear(6, 12), nn.Linear(12, 2)
opt = torch.optim.SGD([*enc.parameters(), *head.parameters()], lr=0.1)
feats = torch.relu(enc(x))
for epoch in range(3):
    loss = nn.functional.cross_entropy(head(feats), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(epoch, loss.item())
