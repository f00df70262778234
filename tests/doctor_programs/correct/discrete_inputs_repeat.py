# expect: nothing
# Few distinct rows exist (binary features), so train and test share values by nature.

import clew as torch
from clew import nn

torch.manual_seed(0)
X = torch.randint(0, 2, (400, 6)).float()
Y = (X.sum(1) % 2).long()
net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(5):
    for i in range(0, 320, 32):
        loss = nn.functional.cross_entropy(net(X[i : i + 32]), Y[i : i + 32])
        opt.zero_grad()
        loss.backward()
        opt.step()
with torch.no_grad():
    print((net(X[320:]).argmax(1) == Y[320:]).float().mean().item())
