# expect: nothing
# Cosine annealing stepped per batch with T_max equal to the number of all batches.

import torch
from torch import nn

torch.manual_seed(246)
epochs, batches = 8, 10
net = nn.Sequential(nn.Linear(4, 32), nn.SiLU(), nn.Linear(32, 1))
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs * batches)
losses = []
for _ in range(epochs):
    for _ in range(batches):
        x = torch.randn(32, 4)
        y = torch.sin(x[:, :1]) + x[:, 1:2]
        loss = nn.functional.mse_loss(net(x), y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
print("rate at the end", optimizer.param_groups[0]["lr"])
print("loss", losses[0], losses[-1])
