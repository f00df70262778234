# expect: step-before-backward line 22
# step() is called at the top of the loop body, after the last gradient was cleared.

import clew as torch
import clew.nn as nn

torch.manual_seed(3)
data = torch.randn(128, 5)
labels = (data[:, 0] * data[:, 1] > 0).float().unsqueeze(1)
model = nn.Sequential(nn.Linear(5, 20), nn.ReLU(), nn.Linear(20, 1))
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.2)

epoch_losses = []
for epoch in range(4):
    running = 0.0
    for start in range(0, 128, 16):
        xb = data[start : start + 16]
        yb = labels[start : start + 16]
        optimizer.zero_grad()
        logits = model(xb)
        optimizer.step()
        loss = criterion(logits, yb)
        loss.backward()
        running += loss.item()
    epoch_losses.append(running / 8)
print(epoch_losses)
