# expect: nothing
# Sigmoid outputs with a mean squared error, and with BCELoss: both expect probabilities.

import torch
from torch import nn

torch.manual_seed(430)
pixels = torch.rand(120, 16)
model = nn.Sequential(nn.Linear(16, 12), nn.ReLU(), nn.Linear(12, 16), nn.Sigmoid())
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
mse, bce = nn.MSELoss(), nn.BCELoss()
losses = []
for _ in range(15):
    for batch in pixels.split(40):
        out = model(batch)
        loss = mse(out, batch) + 0.1 * bce(out, batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
print(losses[0], losses[-1])
