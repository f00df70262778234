# expect: nothing
# Training and evaluation are functions of another module.

import torch
from shared_training import accuracy, fit
from torch import nn

torch.manual_seed(803)
x = torch.randn(200, 6)
y = x[:, :3].argmax(1)
batches = list(zip(x[:150].split(30), y[:150].split(30)))
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
losses = fit(model, batches, optimizer, nn.CrossEntropyLoss(), epochs=10)
print("held out", accuracy(model, x[150:], y[150:]))
print(losses[0], losses[-1])
