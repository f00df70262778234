# expect: zero-grad-before-step line 19
# Gradients are zeroed between the scaled backward and scaler.step().

import torch
from torch import nn

torch.manual_seed(303)
net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
scaler = torch.amp.GradScaler("cpu", init_scale=512.0)
x = torch.randn(80, 10)
y = x[:, :1] - x[:, 1:2]

for it in range(15):
    with torch.autocast("cpu", dtype=torch.float16):
        out = net(x)
    loss = nn.functional.mse_loss(out.float(), y)
    scaler.scale(loss).backward()
    optimizer.zero_grad(set_to_none=False)
    scaler.step(optimizer)
    scaler.update()
    if it % 5 == 0:
        print(it, loss.item())
