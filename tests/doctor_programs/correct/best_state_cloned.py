# expect: nothing
# The best parameters are cloned tensor by tensor; the last ones are kept as well.

import torch
from torch import nn

torch.manual_seed(710)
x = torch.randn(150, 5)
y = x[:, :1] + 0.4 * torch.randn(150, 1)
model = nn.Sequential(nn.Linear(5, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
best, best_state, first = float("inf"), {}, None
for _ in range(50):
    model.train()
    loss = nn.functional.mse_loss(model(x[:100]), y[:100])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    model.eval()
    with torch.no_grad():
        value = nn.functional.mse_loss(model(x[100:]), y[100:]).item()
    first = value if first is None else first
    if value < best:
        best, best_state = value, {k: v.detach().clone() for k, v in model.state_dict().items()}
model.load_state_dict(best_state)
with torch.no_grad():
    print(first, nn.functional.mse_loss(model(x[100:]), y[100:]).item())
