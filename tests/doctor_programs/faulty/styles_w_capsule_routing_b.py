# expect: nan-origin line 11
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(10)


def squash(s, dim=-1):
    n2 = (s * s).sum(dim, keepdim=True)
    return n2 / (1 + n2) * s / n2.sqrt()


class Routing(nn.Module):
    def __init__(self, n_in, d_in, n_out, d_out, iters=3):
        super().__init__()
        self.W = nn.Parameter(0.1 * torch.randn(n_in, n_out, d_out, d_in))
        self.iters = iters

    def forward(self, u):  # (B, n_in, d_in)
        u_hat = torch.einsum("iojk,bik->bioj", self.W, u)
        frozen = u_hat.detach()
        b = torch.zeros(u_hat.shape[:3])
        for r in range(self.iters):
            c = b.softmax(dim=2)
            last = r == self.iters - 1
            v = squash((c[..., None] * (u_hat if last else frozen)).sum(1))
            if not last:
                b = b + (frozen * v[:, None]).sum(-1)
        return v


class CapsNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.primary = nn.Linear(16, 6 * 4)
        self.digits = Routing(6, 4, 3, 5)

    def forward(self, x):
        u = F.relu(self.primary(x).view(-1, 6, 4) - 0.5)
        return (self.digits(u).pow(2).sum(-1) + 1e-8).sqrt()


def margin(lengths, y):
    t = F.one_hot(y, 3)
    return (t * F.relu(0.9 - lengths) ** 2 + 0.5 * (1 - t) * F.relu(lengths - 0.1) ** 2).sum(1).mean()


protos = torch.randn(3, 16)
model = CapsNet()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for it in range(30):
    y = torch.randint(0, 3, (24,))
    lengths = model(protos[y] + 0.3 * torch.randn(24, 16))
    loss = margin(lengths, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(f"{loss.item():.4f}")
