# expect: accumulation-not-averaged line 23, 24, 26
# Gradients of 4 micro-batches are summed before a step without dividing the loss by 4.

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(17)
ACCUMULATION_STEPS = 4
features = torch.randn(128, 9)
labels = features[:, :3].argmax(dim=1)
loader = DataLoader(TensorDataset(features, labels), batch_size=8, shuffle=True)

model = nn.Sequential(nn.Linear(9, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

for epoch in range(3):
    optimizer.zero_grad()
    epoch_loss = 0.0
    for step, (x, y) in enumerate(loader):
        logits = model(x)
        loss = F.cross_entropy(logits, y)
        loss.backward()
        if (step + 1) % ACCUMULATION_STEPS == 0:
            optimizer.step()
            optimizer.zero_grad()
        epoch_loss += loss.item()
    print(f"epoch {epoch}: {epoch_loss / len(loader):.4f}")
