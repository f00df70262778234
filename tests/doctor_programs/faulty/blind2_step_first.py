# expect: step-before-backward line 16

import clew as torch
from clew import nn

torch.manual_seed(3)
model = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
w = torch.randn(5, 1)
for it in range(60):
    x = torch.randn(32, 5)
    y = x @ w
    opt.zero_grad()
    pred = model(x)
    loss = nn.functional.mse_loss(pred, y)
    opt.step()
    loss.backward()
    if it % 20 == 0:
        print(it, float(loss))
