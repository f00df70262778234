# expect: missing-zero-grad line 25, 26
# zero_grad() stands in front of the batch loop although step() runs for every batch.

import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(1)
inputs = torch.randn(160, 6)
targets = inputs @ torch.randn(6, 1) + 0.1 * torch.randn(160, 1)

model = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
criterion = nn.MSELoss()
optimizer = optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
batch_size = 20

for epoch in range(5):
    running = 0.0
    order = torch.randperm(inputs.size(0))
    optimizer.zero_grad()
    for start in range(0, inputs.size(0), batch_size):
        index = order[start : start + batch_size]
        prediction = model(inputs[index])
        loss = criterion(prediction, targets[index])
        loss.backward()
        optimizer.step()
        running += loss.item()
    print("epoch", epoch, "loss", running / (160 // batch_size))
