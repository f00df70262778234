# expect: nothing
# The losses of several sub-batches are averaged and back-propagated together.

import torch
from torch import nn

torch.manual_seed(436)
model = nn.LSTM(3, 16, batch_first=True)
head = nn.Linear(16, 1)
optimizer = torch.optim.Adam([*model.parameters(), *head.parameters()], lr=1e-2)
groups = [torch.randn(10, length, 3) for length in (4, 6, 9)]
history = []
for _ in range(40):
    losses = []
    for x in groups:
        _, (h, _) = model(x)
        losses.append(nn.functional.mse_loss(head(h[-1]), x[:, -2:].mean(dim=(1, 2)).unsqueeze(1)))
    loss = torch.stack(losses).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history.append(loss.item())
print(history[0], history[-1])
