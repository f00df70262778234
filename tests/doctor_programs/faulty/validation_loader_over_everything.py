# expect: data-leak line 34
# The validation loader is built over the whole dataset, of which training uses 80 percent.

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, random_split


class Wave(Dataset):
    def __init__(self, n=200):
        generator = torch.Generator().manual_seed(339)
        self.x = torch.rand(n, 3, generator=generator) * 4
        self.y = torch.sin(self.x).sum(dim=1, keepdim=True)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


def validate(model, loader):
    model.eval()
    with torch.no_grad():
        total = sum(nn.functional.mse_loss(model(x), y, reduction="sum").item() for x, y in loader)
    model.train()
    return total / len(loader.dataset)


torch.manual_seed(339)
dataset = Wave()
train_set, val_set = random_split(dataset, [160, 40])
train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
val_loader = DataLoader(dataset, batch_size=50)
model = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(5):
    for xb, yb in train_loader:
        loss = nn.functional.mse_loss(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, validate(model, val_loader), len(val_set))
