# expect: train-eval-mode line 39
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(4)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.BatchNorm2d(8), nn.ReLU(),
            nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten())

    def forward(self, x):
        return self.conv(x)


def augment(x):
    return (x + 0.1 * torch.randn_like(x)).roll(int(torch.randint(-2, 3, ())), dims=-1)


def nt_xent(z1, z2, tau=0.2):
    n = z1.shape[0]
    z = F.normalize(torch.cat([z1, z2]), dim=1)
    sim = z @ z.t() / tau
    sim = sim.masked_fill(torch.eye(2 * n, dtype=torch.bool), float("-inf"))
    target = torch.cat([torch.arange(n, 2 * n), torch.arange(n)])
    return F.cross_entropy(sim, target)


images = torch.rand(96, 1, 12, 12) + torch.arange(96).float().view(-1, 1, 1, 1) % 4
encoder = Encoder()
projector = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 8))
params = [*encoder.parameters(), *projector.parameters()]
opt = torch.optim.Adam(params, lr=1e-3)
encoder.eval()
for epoch in range(4):
    order = torch.randperm(96)
    for chunk in order.split(32):
        x = images[chunk]
        loss = nt_xent(projector(encoder(augment(x))), projector(encoder(augment(x))))
        opt.zero_grad()
        loss.backward()
        opt.step()

# Linear probe on frozen features.
encoder.eval()
probe = nn.Linear(16, 4)
probe_opt = torch.optim.SGD(probe.parameters(), lr=0.5)
with torch.no_grad():
    feats = encoder(images)
labels = torch.arange(96) % 4
for _ in range(30):
    probe_opt.zero_grad()
    loss = F.cross_entropy(probe(feats), labels)
    loss.backward()
    probe_opt.step()
print(loss.item())
