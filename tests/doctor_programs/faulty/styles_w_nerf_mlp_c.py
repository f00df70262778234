# expect: bad-init line 23
import math
import torch
import torch.nn as nn

torch.manual_seed(0)


def positional(x, n=4):
    freqs = 2.0 ** torch.arange(n) * math.pi
    ang = x[..., None] * freqs
    return torch.cat([x, ang.sin().flatten(-2), ang.cos().flatten(-2)], -1)


class Field(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(27, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.sigma = nn.Linear(width, 1)
        self.rgb = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 3), nn.Sigmoid())
        for m in self.body:
            if isinstance(m, nn.Linear):
                nn.init.constant_(m.weight, 0.02)

    def forward(self, p):
        h = self.body(positional(p))
        return nn.functional.softplus(self.sigma(h))[..., 0], self.rgb(h)


def render(field, origins, dirs, n=12):
    t = torch.linspace(0.5, 2.0, n)
    pts = origins[:, None] + dirs[:, None] * t[:, None]
    sigma, rgb = field(pts)
    delta = t[1] - t[0]
    alpha = 1 - torch.exp(-sigma * delta)
    trans = torch.cumprod(torch.cat([torch.ones_like(alpha[:, :1]), 1 - alpha + 1e-10], 1), 1)[:, :-1]
    weights = alpha * trans
    return (weights[..., None] * rgb).sum(1), (weights * t).sum(1)


def scene(o, d):
    hit = ((o + d) ** 2).sum(-1) < 0.5
    color = torch.where(hit[:, None], torch.tensor([0.9, 0.2, 0.1]), torch.tensor([0.1, 0.1, 0.3]))
    return color, 1.0 + 0.3 * hit.float()


field = Field()
opt = torch.optim.Adam(field.parameters(), lr=5e-4, betas=(0.9, 0.99))
for it in range(40):
    o = torch.randn(48, 3) * 0.1
    d = nn.functional.normalize(torch.randn(48, 3), dim=-1)
    color, depth = scene(o, d)
    rgb, dist = render(field, o, d)
    loss = ((rgb - color) ** 2).mean() + 0.1 * ((dist - depth) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print("psnr", round(-10 * math.log10(loss.item()), 2))
