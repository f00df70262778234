# expect: nothing
# Prices in the hundred thousands are standardised with the training rows' statistics.

import torch
from torch import nn

torch.manual_seed(704)
area, age = torch.rand(200, 1) * 200 + 40, torch.rand(200, 1) * 80
price = 3000 * area - 900 * age + 20000 + 10000 * torch.randn(200, 1)
table = torch.cat([area, age], dim=1)
train, test = slice(0, 150), slice(150, 200)
mean, std = table[train].mean(0), table[train].std(0)
p_mean, p_std = price[train].mean(), price[train].std()
x, y = (table - mean) / std, (price - p_mean) / p_std
model = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)


def error():
    with torch.no_grad():
        return ((model(x[test]) * p_std + p_mean) - price[test]).abs().mean().item()


first = error()
for _ in range(60):
    loss = nn.functional.mse_loss(model(x[train]), y[train])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("mean error", first, error())
