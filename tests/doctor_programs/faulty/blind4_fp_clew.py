# expect: fp16-underflow line 18, 19, 20, 21

import clew as torch
from clew import nn


def train(steps=60):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.5)
    x = torch.randn(512, 8)
    y = 1e-4 * x.sum(1, keepdim=True)
    with torch.no_grad():
        model[2].weight.mul_(1e-3)
        model[2].bias.zero_()
    for s in range(steps):
        opt.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            pred = model(x)
        loss = nn.functional.mse_loss(pred.float(), y)
        loss.backward()
        opt.step()
        if s % 20 == 0:
            print(s, loss.item())


train()
