# expect: nothing
# Phase one pretrains an autoencoder, phase two trains a classifier on its frozen encoder.

import torch
from torch import nn

torch.manual_seed(0)
enc = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
dec = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 8))
x = torch.randn(256, 2) @ torch.randn(2, 8)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=3e-3)
for epoch in range(3):
    for xb in x.split(32):
        loss = nn.functional.mse_loss(dec(enc(xb)), xb)
        opt.zero_grad()
        loss.backward()
        opt.step()
enc.requires_grad_(False)
clf = nn.Linear(4, 2)
opt = torch.optim.Adam(clf.parameters(), lr=1e-2)
y = (x[:, 0] > 0).long()
for epoch in range(3):
    for xb, yb in zip(x.split(32), y.split(32)):
        loss = nn.functional.cross_entropy(clf(enc(xb)), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
print(loss.item())
