# expect: missing-step line 14, 21
# optimizer.step lacks its parentheses: the method is named, never called.

import torch
import torch.nn as nn

# %% data
torch.manual_seed(14)
X = torch.rand(150, 4)
Y = (X[:, 0] * X[:, 1] + X[:, 2] - X[:, 3]).unsqueeze(1)

# %% model
model = nn.Sequential(nn.Linear(4, 20), nn.ReLU(), nn.Linear(20, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

# %% train
history = []
for _ in range(40):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(X), Y)
    loss.backward()
    optimizer.step
    history.append(loss.item())

# %% result
print("first", history[0], "last", history[-1])
