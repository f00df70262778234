# expect: batch-mixing line 18
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(4)


class Encoder(nn.Module):
    def __init__(self, dim=16, width=48, out=8):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(dim, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.projector = nn.Linear(width, out)
        self.log_tau = nn.Parameter(torch.tensor(-1.5))

    def forward(self, x):
        h = self.backbone(x)
        return F.normalize(self.projector(h), dim=0)


def supcon(z, y, log_tau):
    n = len(z)
    sim = z @ z.t() / log_tau.exp()
    eye = torch.eye(n, dtype=torch.bool)
    sim = sim.masked_fill(eye, -1e9)
    positive = (y[:, None] == y[None, :]) & ~eye
    log_p = sim - torch.logsumexp(sim, dim=1, keepdim=True)
    per_anchor = -(log_p * positive).sum(1) / positive.sum(1).clamp(min=1)
    return per_anchor.mean()


def sample(n, centers):
    y = torch.randint(len(centers), (n,))
    return centers[y] + 0.4 * torch.randn(n, centers.shape[1]), y


centers = torch.randn(5, 16)
net = Encoder()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
log = []
for it in range(40):
    x, y = sample(40, centers)
    loss = supcon(net(x), y, net.log_tau)
    opt.zero_grad()
    loss.backward()
    opt.step()
    log.append(loss.item())

probe = nn.Linear(48, 5)
probe_opt = torch.optim.Adam(probe.parameters(), lr=1e-2)
for it in range(20):
    x, y = sample(40, centers)
    with torch.no_grad():
        feats = net.backbone(x)
    probe_loss = F.cross_entropy(probe(feats), y)
    probe_opt.zero_grad()
    probe_loss.backward()
    probe_opt.step()
print(log[-1], probe_loss.item())
