# expect: nothing

import clew as torch
import clew.nn as nn

# sum over the micro batches, normalised by the total number of samples
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 3))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
X = torch.randn(256, 6)
y = X[:, :3].argmax(1)
for step in range(40):
    big = torch.randint(0, 256, (64,))
    opt.zero_grad()
    total = 0.0
    for micro in big.split(16):
        loss = nn.functional.cross_entropy(net(X[micro]), y[micro], reduction="sum") / len(big)
        loss.backward()
        total += loss.item()
    opt.step()
    if step % 10 == 0:
        print(step, total)
