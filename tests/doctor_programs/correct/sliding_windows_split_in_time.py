# expect: nothing
# Windows overlap inside the training part; the test part starts after it.

import torch
from torch import nn

torch.manual_seed(428)
series = torch.sin(torch.arange(400) * 0.2) + 0.1 * torch.randn(400)
train_windows = series[:300].unfold(0, 9, 1)
test_windows = series[300:].unfold(0, 9, 1)
model = nn.Sequential(nn.Linear(8, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)


def evaluate():
    with torch.no_grad():
        error = model(test_windows[:, :8]) - test_windows[:, 8:]
    return error.pow(2).mean().item()


first = evaluate()
for _ in range(10):
    for index in torch.randperm(len(train_windows)).split(64):
        window = train_windows[index]
        loss = (model(window[:, :8]) - window[:, 8:]).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(first, evaluate())
