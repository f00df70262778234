# expect: detached-graph line 18, 20
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(7)


class Quantizer(nn.Module):
    def __init__(self, n=16, d=4, beta=0.25):
        super().__init__()
        self.codebook = nn.Embedding(n, d)
        self.codebook.weight.data.uniform_(-1.0, 1.0)
        self.beta = beta

    def forward(self, z):
        dist = (z[:, None] - self.codebook.weight[None]).pow(2).sum(-1)
        q = self.codebook(dist.argmin(1))
        loss = F.mse_loss(q, z.detach()) + self.beta * F.mse_loss(z, q.detach())
        return q, loss


class VQVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 4))
        self.vq = Quantizer()
        self.dec = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 10))

    def forward(self, x):
        q, vq_loss = self.vq(self.enc(x))
        if True:
            return self.dec(q), vq_loss


modes = torch.randn(8, 10) * 2
x = modes[torch.randint(0, 8, (320,))] + 0.1 * torch.randn(320, 10)
model = VQVAE()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(5):
    for xb in x[torch.randperm(320)].split(64):
        recon, vq_loss = model(xb)
        loss = F.mse_loss(recon, xb) + vq_loss
        opt.zero_grad()
        loss.backward()
        opt.step()
print(loss.item())
