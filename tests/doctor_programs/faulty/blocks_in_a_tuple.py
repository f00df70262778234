# expect: param-not-in-optimizer line 16, 29
# Residual blocks kept in a tuple are invisible to parameters().

import torch
import torch.nn as nn


def block(d):
    return nn.Sequential(nn.LayerNorm(d), nn.Linear(d, d), nn.GELU(), nn.Linear(d, d))


class ResNet(nn.Module):
    def __init__(self, d=12, depth=3):
        super().__init__()
        self.stem = nn.Linear(5, d)
        self.blocks = tuple(block(d) for _ in range(depth))
        self.head = nn.Linear(d, 1)

    def forward(self, x):
        h = self.stem(x)
        for b in self.blocks:
            h = h + b(h)
        return self.head(h)


if __name__ == "__main__":
    torch.manual_seed(0)
    net = ResNet()
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    n = sum(p.numel() for p in net.parameters())
    print("parameters:", n)
    for i in range(25):
        x = torch.randn(32, 5)
        y = (x**2).sum(1, keepdim=True)
        loss = nn.functional.mse_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(loss.item())
