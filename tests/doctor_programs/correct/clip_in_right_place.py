# expect: nothing
# Clipping by norm between backward and step, cleared directly after the step.

import torch
from torch import nn

torch.manual_seed(216)
model = nn.RNN(2, 24, batch_first=True)
head = nn.Linear(24, 1)
params = [*model.parameters(), *head.parameters()]
optimizer = torch.optim.SGD(params, lr=0.1)
seq = torch.randn(64, 12, 2)
target = seq[:, :, :1].sum(dim=1) / 4
losses = []
for _ in range(60):
    out, _ = model(seq)
    loss = nn.functional.mse_loss(head(out[:, -1]), target)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(params, max_norm=0.5)
    optimizer.step()
    optimizer.zero_grad(set_to_none=False)
    losses.append(loss.item())
print(losses[0], losses[-1])
