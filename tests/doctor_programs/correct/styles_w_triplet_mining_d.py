# expect: nothing
import torch
from torch import nn


def pairwise(e):
    sq = (e ** 2).sum(1)
    d2 = (sq[:, None] + sq[None] - 2 * e @ e.T).clamp(min=0)
    mask = (d2 == 0).float()
    return torch.sqrt(d2 + mask * 1e-12) * (1 - mask)


def batch_hard(e, y, margin=0.3):
    d = pairwise(e)
    same = y[:, None] == y[None]
    pos = (d * same).max(1).values
    neg = (d + 1e4 * same).min(1).values
    return torch.relu(pos - neg + margin).mean()


class Embedder(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(12, 32)
        self.b = nn.Linear(32, 16)

    def forward(self, x):
        h = torch.relu(self.a(x))
        e = self.b(h)
        return nn.functional.normalize(e, dim=1)


if __name__ == "__main__":
    torch.manual_seed(0)
    centers = torch.randn(8, 12)
    model = Embedder()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-5)
    for step in range(40):
        y = torch.arange(8).repeat(4)
        x = centers[y] + 0.3 * torch.randn(32, 12)
        loss = batch_hard(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 10 == 0:
            with torch.no_grad():
                model.eval()
                d = pairwise(model(x))
                model.train()
    print(f"{loss.item():.4f}")
