# expect: aliased-buffer line 27
# best_state holds references to the live weights, restoring it restores the last weights.

import torch
from torch import nn

torch.manual_seed(160)
x = torch.randn(150, 6)
y = x[:, :1] * x[:, 1:2] + 0.3 * torch.randn(150, 1)
x_train, y_train, x_val, y_val = x[:100], y[:100], x[100:], y[100:]
model = nn.Sequential(nn.Linear(6, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

best_loss, best_state = float("inf"), None
for _ in range(40):
    model.train()
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x_train), y_train)
    loss.backward()
    optimizer.step()

    model.eval()
    with torch.no_grad():
        val_loss = nn.functional.mse_loss(model(x_val), y_val).item()
    if val_loss < best_loss:
        best_loss = val_loss
        best_state = model.state_dict()

model.load_state_dict(best_state)
with torch.no_grad():
    restored = nn.functional.mse_loss(model(x_val), y_val).item()
print(f"best validation loss {best_loss:.4f}, after restoring {restored:.4f}")
