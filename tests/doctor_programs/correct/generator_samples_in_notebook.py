# expect: nothing
# Notebook style: metrics on the training data, samples drawn under no_grad, lists of floats.

import torch
import torch.nn as nn

# %%
torch.manual_seed(285)
X = torch.cat([torch.randn(60, 2) + 2, torch.randn(60, 2) - 2])
y = torch.cat([torch.zeros(60), torch.ones(60)])

# %%
model = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
loss_fn = nn.BCEWithLogitsLoss()
opt = torch.optim.SGD(model.parameters(), lr=0.1)

# %%
history, accuracy = [], []
for _ in range(50):
    opt.zero_grad()
    logits = model(X).squeeze(-1)
    loss = loss_fn(logits, y)
    loss.backward()
    opt.step()
    history.append(float(loss.detach()))
    accuracy.append(((logits > 0).float() == y).float().mean().item())

# %%
with torch.no_grad():
    grid = torch.cartesian_prod(torch.linspace(-3, 3, 5), torch.linspace(-3, 3, 5))
    surface = torch.sigmoid(model(grid)).view(5, 5)
print("corner", surface[0, 0].item(), "accuracy", accuracy[-1])
print(history[0], history[-1])
