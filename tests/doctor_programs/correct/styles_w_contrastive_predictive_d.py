# expect: nothing
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(91)
STEPS, HID = 3, 20


class CPC(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv1d(1, HID, 4, 4), nn.ReLU(), nn.Conv1d(HID, HID, 1))
        self.ar = nn.GRU(HID, HID, batch_first=True)
        self.predict = nn.ModuleList(nn.Linear(HID, HID, bias=False) for _ in range(STEPS))

    def forward(self, wave):
        z = self.enc(wave[:, None]).transpose(1, 2)
        c, _ = self.ar(z)
        t = c.shape[1] - STEPS - 1
        loss = 0.0
        for k, w in enumerate(self.predict, 1):
            logits = w(c[:, t]) @ z[:, t + k].T
            loss = loss + F.cross_entropy(logits, torch.arange(len(z)))
        return loss / STEPS


def waves(n, length=64):
    f = torch.rand(n, 1) * 0.8 + 0.1
    ph = torch.rand(n, 1) * 6.28
    return torch.sin(f * torch.arange(length) + ph) + 0.05 * torch.randn(n, length)


net = CPC()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
probe = nn.Linear(HID, 1)
probe_opt = torch.optim.Adam(probe.parameters(), lr=1e-2)
for step in range(30):
    x = waves(16)
    loss = net(x)
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        code = net.enc(x[:, None]).mean(-1)
    probe_opt.zero_grad()
    (probe(code).squeeze(1) - x.std(1)).square().mean().backward()
    probe_opt.step()
print(loss.item())
