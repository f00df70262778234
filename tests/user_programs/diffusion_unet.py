"""DDPM: a U-Net with time embeddings, group norm, attention over pixels, dropout, EMA sampling."""

import math
from copy import deepcopy


def main(torch):
    nn, F = torch.nn, torch.nn.functional
    torch.manual_seed(25)

    class Swish(nn.Module):
        def forward(self, x):
            return x * torch.sigmoid(x)

    class TimeEmbedding(nn.Module):
        def __init__(self, n_channels):
            super().__init__()
            self.n_channels = n_channels
            self.lin1 = nn.Linear(self.n_channels // 4, self.n_channels)
            self.act = Swish()
            self.lin2 = nn.Linear(self.n_channels, self.n_channels)

        def forward(self, t):
            half_dim = self.n_channels // 8
            emb = math.log(10_000) / (half_dim - 1)
            emb = torch.exp(torch.arange(half_dim, device=t.device) * -emb)
            emb = t[:, None] * emb[None, :]
            emb = torch.cat((emb.sin(), emb.cos()), dim=1)
            return self.lin2(self.act(self.lin1(emb)))

    class ResBlock(nn.Module):
        def __init__(self, cin, cout, time_channels, dropout=0.1):
            super().__init__()
            self.block1 = nn.Sequential(
                nn.GroupNorm(4, cin), nn.SiLU(), nn.Conv2d(cin, cout, 3, padding=1)
            )
            self.norm2, self.drop = nn.GroupNorm(4, cout), nn.Dropout(dropout)
            self.conv2 = nn.Conv2d(cout, cout, (3, 3), padding=(1, 1))
            self.shortcut = nn.Conv2d(cin, cout, 1) if cin != cout else nn.Identity()
            self.time = nn.Linear(time_channels, cout)

        def forward(self, x, t):
            h = self.block1(x)
            h += self.time(F.silu(t))[:, :, None, None]
            h = self.conv2(self.drop(F.silu(self.norm2(h))))
            return h + self.shortcut(x)

    class PixelAttention(nn.Module):
        def __init__(self, c, heads=2):
            super().__init__()
            self.norm = nn.GroupNorm(4, c)
            self.qkv, self.out = nn.Linear(c, 3 * c), nn.Linear(c, c)
            self.heads, self.scale = heads, (c // heads) ** -0.5

        def forward(self, x, t=None):
            b, c, h, w = x.shape
            seq = self.norm(x).view(b, c, -1).permute(0, 2, 1)
            q, k, v = self.qkv(seq).view(b, -1, self.heads, 3 * c // self.heads).chunk(3, dim=-1)
            attn = torch.einsum("bihd,bjhd->bijh", q, k) * self.scale
            attn = F.dropout(attn.softmax(dim=2), 0.1, self.training)
            res = torch.einsum("bijh,bjhd->bihd", attn, v).reshape(b, -1, c)
            res = self.out(res) + seq
            return res.permute(0, 2, 1).view(b, c, h, w)

    class UNet(nn.Module):
        def __init__(self, ch=8):
            super().__init__()
            self.time_emb = TimeEmbedding(ch * 4)
            self.first = nn.Conv2d(1, ch, 3, padding=1)
            self.down1 = ResBlock(ch, ch, ch * 4)
            self.pool = nn.Conv2d(ch, ch, 3, 2, 1)
            self.down2 = ResBlock(ch, 2 * ch, ch * 4)
            self.attn = PixelAttention(2 * ch)
            self.mid = ResBlock(2 * ch, 2 * ch, ch * 4)
            self.up = nn.ConvTranspose2d(2 * ch, ch, 4, 2, 1)
            self.up1 = ResBlock(2 * ch, ch, ch * 4)
            self.final = nn.Sequential(nn.GroupNorm(4, ch), nn.SiLU(), nn.Conv2d(ch, 1, 1))
            nn.init.zeros_(self.final[-1].weight)

        def forward(self, x, t):
            t = self.time_emb(t)
            h1 = self.down1(self.first(x), t)
            h2 = self.mid(self.attn(self.down2(self.pool(h1), t)), t)
            return self.final(self.up1(torch.cat([self.up(h2), h1], dim=1), t))

    class DDPM:
        def __init__(self, eps_model, n_steps):
            self.eps_model, self.n_steps = eps_model, n_steps
            self.beta = torch.linspace(0.0001, 0.02, n_steps)
            self.alpha = 1.0 - self.beta
            self.alpha_bar = torch.cumprod(self.alpha, dim=0)

        def gather(self, consts, t):
            return consts.gather(-1, t).reshape(-1, 1, 1, 1)

        def loss(self, x0):
            t = torch.randint(0, self.n_steps, (x0.shape[0],), device=x0.device, dtype=torch.long)
            noise = torch.randn_like(x0)
            bar = self.gather(self.alpha_bar, t)
            xt = bar**0.5 * x0 + (1 - bar) ** 0.5 * noise
            return F.mse_loss(noise, self.eps_model(xt, t))

        @torch.no_grad()
        def p_sample(self, xt, t):
            eps_theta = self.eps_model(xt, t)
            alpha, bar = self.gather(self.alpha, t), self.gather(self.alpha_bar, t)
            mean = 1 / (alpha**0.5) * (xt - (1 - alpha) / (1 - bar) ** 0.5 * eps_theta)
            return mean + (self.gather(self.beta, t) ** 0.5) * torch.randn(xt.shape)

    grid = torch.linspace(-1, 1, 8)
    images = torch.stack(
        [(grid[:, None] * a + grid[None] > 0).float() for a in torch.linspace(-2, 2, 8)]
    )
    images = images.unsqueeze(1) * 2 - 1
    model = UNet()
    ddpm = DDPM(model, 10)
    ema = deepcopy(model).requires_grad_(False)
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    curve = []
    for step in range(12):
        loss = ddpm.loss(images)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        with torch.no_grad():
            for a, b in zip(ema.parameters(), model.parameters()):
                a.lerp_(b, 0.1)
        curve.append(loss.item())
    ddpm.eps_model = ema.eval()
    x = torch.randn(2, 1, 8, 8)
    for step in reversed(range(10)):
        x = ddpm.p_sample(x, x.new_full((2,), step, dtype=torch.long))
    mixed = torch.randn(2, 16, 8).permute(0, 2, 1).view(2, 8, 4, 4)
    layouts = {
        "conv": model.down2.block1(mixed).stride(),
        "norm": model.attn.norm(torch.cat([mixed, mixed], 1)).stride(),
        "pool": F.max_pool2d(mixed, 2).stride(),
        "up": F.interpolate(mixed, scale_factor=2, mode="nearest").stride(),
        "softmax": mixed.softmax(1).stride(),
        "layer_norm": F.layer_norm(mixed, (4,)).stride(),
    }
    return {"curve": curve, "sample": x, "layouts": layouts}
