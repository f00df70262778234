# expect: nothing

import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(10, 32), nn.SiLU(), nn.Linear(32, 4))
opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scaler = torch.amp.GradScaler("cpu", init_scale=256.0)
n_acc = 2
X = torch.randn(320, 10)
Y = X[:, :4].argmax(1)
for ep in range(6):
    for k, i in enumerate(torch.randperm(320).split(16)):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = nn.functional.cross_entropy(model(X[i]), Y[i]) / n_acc
        scaler.scale(loss).backward()
        if (k + 1) % n_acc == 0:
            scaler.step(opt)
            scaler.update()
            opt.zero_grad()
    print(ep, loss.item() * n_acc)
