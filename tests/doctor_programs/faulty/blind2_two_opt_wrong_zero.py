# expect: missing-zero-grad line 16, 17, 18

import torch
import torch.nn as nn

torch.manual_seed(0)
enc = nn.Sequential(nn.Linear(10, 32), nn.ReLU())
head = nn.Linear(32, 3)
opt_enc = torch.optim.SGD(enc.parameters(), lr=0.02)
opt_head = torch.optim.Adam(head.parameters(), lr=1e-3)
X = torch.randn(256, 10)
Y = X[:, :3].argmax(1)
for epoch in range(6):
    for i in range(0, 256, 32):
        loss = nn.functional.cross_entropy(head(enc(X[i : i + 32])), Y[i : i + 32])
        opt_head.zero_grad()
        loss.backward()
        opt_enc.step()
        opt_head.step()
    print(epoch, loss.item())
