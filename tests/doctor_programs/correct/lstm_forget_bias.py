# expect: nothing
# The forget gate's bias is set to one through .data before training.

import torch
from torch import nn

torch.manual_seed(1012)
lstm, head = nn.LSTM(3, 16, batch_first=True), nn.Linear(16, 1)
for name, p in lstm.named_parameters():
    if "bias" in name:
        p.data[16:32].fill_(1.0)
    elif "weight_hh" in name:
        nn.init.orthogonal_(p)
optimizer = torch.optim.Adam([*lstm.parameters(), *head.parameters()], lr=1e-2)
x = torch.randn(64, 12, 3)
y = x[:, 0, :1]
losses = []
for _ in range(50):
    out, _ = lstm(x)
    loss = nn.functional.mse_loss(head(out[:, -1]), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
