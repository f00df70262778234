# expect: nothing
import torch
import torch.nn as nn
from collections import defaultdict


class DT(nn.Module):
    def __init__(self, s=3, a=2, d=24, horizon=6):
        super().__init__()
        self.rtg, self.state, self.action = nn.Linear(1, d), nn.Linear(s, d), nn.Linear(a, d)
        self.time = nn.Embedding(horizon, d)
        layer = nn.TransformerEncoderLayer(d, 2, 2 * d, dropout=0.0, batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.out = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, a), nn.Tanh())

    def forward(self, r, s, a):
        B, T, _ = s.shape
        t = self.time(torch.arange(T))
        tokens = torch.stack([self.rtg(r) + t, self.state(s) + t, self.action(a) + t], 2).reshape(B, 3 * T, -1)
        mask = torch.ones(3 * T, 3 * T).triu(1).bool()
        h = self.body(tokens, mask=mask)
        return self.out(h[:, 1::3])


class Meter:
    def __init__(self):
        self.values = defaultdict(list)

    def add(self, **kw):
        for k, v in kw.items():
            self.values[k].append(v)


def episodes(n, T=6):
    s = torch.randn(n, T, 3)
    a = torch.tanh(torch.stack([s[..., 0] - s[..., 1], s[..., 2]], -1))
    r = -(s[..., :1] ** 2)
    rtg = r.flip(1).cumsum(1).flip(1)
    return rtg, s, a


torch.manual_seed(101)
net, meter = DT(), Meter()
opt = torch.optim.AdamW(net.parameters(), 2e-3)
for i in range(25):
    rtg, s, a = episodes(16)
    pred = net(rtg, s, a)
    err = (pred - a).pow(2).sum(-1)
    w = torch.linspace(0.5, 1.0, 6).expand(16, 6)
    loss = (err * w).mean()
    opt.zero_grad()
    loss.backward()
    norm = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    opt.step()
    meter.add(loss=loss.item(), norm=norm.item())
print(float(sum(meter.values["loss"])))
