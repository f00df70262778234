# expect: nothing
# The best weights are deep-copied and restored after the validation loss stopped falling.

import copy

import torch
from torch import nn

torch.manual_seed(234)
x = torch.randn(160, 6)
y = x[:, :1] * x[:, 1:2] + 0.3 * torch.randn(160, 1)
x_train, y_train, x_val, y_val = x[:120], y[:120], x[120:], y[120:]
model = nn.Sequential(nn.Linear(6, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
best, best_state, bad, first = float("inf"), None, 0, None
for _ in range(60):
    model.train()
    loss = nn.functional.mse_loss(model(x_train), y_train)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    model.eval()
    with torch.no_grad():
        val = nn.functional.mse_loss(model(x_val), y_val).item()
    first = val if first is None else first
    if val < best:
        best, best_state, bad = val, copy.deepcopy(model.state_dict()), 0
    else:
        bad += 1
        if bad >= 8:
            break
model.load_state_dict(best_state)
with torch.no_grad():
    print("validation", first, nn.functional.mse_loss(model(x_val), y_val).item())
