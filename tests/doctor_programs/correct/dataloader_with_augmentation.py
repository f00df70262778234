# expect: nothing
# A Dataset class with random augmentation; the same rows come again each epoch.

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, random_split


class Signals(Dataset):
    def __init__(self, n):
        g = torch.Generator().manual_seed(3)
        self.x = torch.randn(n, 1, 16, generator=g)
        self.y = (self.x.mean((1, 2)) > 0).long()

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        x = self.x[i]
        if torch.rand(()) < 0.5:
            x = x.flip(-1)
        return x + 0.05 * torch.randn_like(x), self.y[i]


if __name__ == "__main__":
    torch.manual_seed(0)
    train, valid = random_split(Signals(160), [128, 32], torch.Generator().manual_seed(0))
    net = nn.Sequential(
        nn.Conv1d(1, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(8, 2)
    )
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    for epoch in range(3):
        net.train()
        for x, y in DataLoader(train, 16, shuffle=True):
            loss = nn.functional.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            hits = sum((net(x).argmax(1) == y).sum().item() for x, y in DataLoader(valid, 32))
        print(epoch, hits / 32)
