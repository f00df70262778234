# expect: accumulation-not-averaged line 16, 17, 19

import clew as torch
from clew import nn

torch.manual_seed(0)
ACCUM = 4
model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 5))
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
crit = nn.CrossEntropyLoss()
X = torch.randn(320, 20)
Y = X[:, :5].argmax(1)
opt.zero_grad()
for epoch in range(4):
    for i, (xb, yb) in enumerate(zip(X.split(16), Y.split(16))):
        loss = crit(model(xb), yb)
        loss.backward()
        if (i + 1) % ACCUM == 0:
            opt.step()
            opt.zero_grad()
    print(epoch, loss.item())
