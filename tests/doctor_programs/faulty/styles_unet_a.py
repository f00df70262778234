# expect: loss-activation-mismatch line 38, 63
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(4)


class Blobs(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.centers = torch.rand(n, 2, generator=g) * 12 + 2
        self.noise = torch.randn(n, 1, 16, 16, generator=g) * 0.3

    def __len__(self):
        return len(self.centers)

    def __getitem__(self, i):
        yy, xx = torch.meshgrid(torch.arange(16.0), torch.arange(16.0), indexing="ij")
        mask = (((xx - self.centers[i, 0]) ** 2 + (yy - self.centers[i, 1]) ** 2) < 9).float()[None]
        return mask + self.noise[i], mask


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.d1 = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())
        self.d2 = nn.Sequential(nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU())
        self.up = nn.ConvTranspose2d(16, 8, 2, stride=2)
        self.u1 = nn.Sequential(nn.Conv2d(16, 8, 3, padding=1), nn.ReLU())
        self.out = nn.Conv2d(8, 1, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        h = self.u1(torch.cat([self.up(b), a], 1))
        return torch.sigmoid(self.out(h))


def dice_loss(logits, mask, eps=1.0):
    p = torch.sigmoid(logits)
    inter = (p * mask).sum((1, 2, 3))
    return (1 - (2 * inter + eps) / (p.sum((1, 2, 3)) + mask.sum((1, 2, 3)) + eps)).mean()


def evaluate(net, loader):
    net.eval()
    total = 0.0
    with torch.no_grad():
        for img, mask in loader:
            total += dice_loss(net(img), mask).item()
    net.train()
    return total / len(loader)


net = UNet()
opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
train, val = DataLoader(Blobs(48, 0), 8, shuffle=True), DataLoader(Blobs(16, 1), 8)
for epoch in range(3):
    for img, mask in train:
        logits = net(img)
        bce = F.binary_cross_entropy_with_logits(logits, mask)
        loss = bce + dice_loss(logits, mask)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, evaluate(net, val))
