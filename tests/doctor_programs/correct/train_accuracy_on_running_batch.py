# expect: nothing
# Training accuracy comes from the training outputs themselves.

import clew as torch
from clew import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Dropout(0.3), nn.Linear(24, 2))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
hits = seen = 0
x = torch.randn(160, 6)
y = (x[:, 0] > 0).long()
for epoch in range(3):
    net.train()
    for xb, yb in zip(x.split(16), y.split(16)):
        out = net(xb)
        loss = nn.functional.cross_entropy(out, yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            hits += (out.argmax(1) == yb).sum().item()
            seen += len(yb)
    print(hits / seen)
