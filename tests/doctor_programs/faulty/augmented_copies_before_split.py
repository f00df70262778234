# expect: data-leak line 14
# Mirrored and original copies are made first, then split at random: originals repeat on both sides.

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(919)
images = torch.randn(100, 6, 6)
labels = (images[:, :3].mean(dim=(1, 2)) > images[:, 3:].mean(dim=(1, 2))).long()
x = torch.cat([images, images, images.flip(2)])
y = torch.cat([labels, labels, labels])
train_set, test_set = random_split(TensorDataset(x, y), [240, 60])
train_loader = DataLoader(train_set, batch_size=40, shuffle=True)
test_loader = DataLoader(test_set, batch_size=60)
model = nn.Sequential(nn.Flatten(), nn.Linear(36, 48), nn.ReLU(), nn.Linear(48, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(6):
    model.train()
    for xb, yb in train_loader:
        loss = F.cross_entropy(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        hits = sum((model(xb).argmax(1) == yb).sum().item() for xb, yb in test_loader)
    print(epoch, loss.item(), hits / 60)
