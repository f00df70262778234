# expect: nothing
import torch
import torch.nn as nn

torch.manual_seed(108)
FEATURES, BATCH = 64, 128


class AutoEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(FEATURES, 12)
        self.dec = nn.Linear(12, FEATURES)
        nn.init.zeros_(self.dec.bias)

    def forward(self, x):
        return self.dec(torch.tanh(self.enc(x)))


# spectra: small reflectances after dark-current subtraction
basis = torch.randn(6, FEATURES)
coef = torch.randn(BATCH * 4, 6)
spectra = 1e-5 * coef @ basis

master = AutoEncoder()
with torch.no_grad():
    master.dec.weight.mul_(5e-5)
half = AutoEncoder().half()
optimizer = torch.optim.Adam(master.parameters(), lr=1e-5, eps=1e-12)
SCALE = 2.0**16


def sync():
    with torch.no_grad():
        for h, m in zip(half.parameters(), master.parameters()):
            h.copy_(m)


for step in range(120):
    sync()
    xb = spectra[torch.randint(0, len(spectra), (BATCH,))]
    out = half(xb.mul(5e4).half())
    loss = (out.float() - xb).pow(2).mean()
    half.zero_grad(set_to_none=True)
    (loss * SCALE).backward()
    for h, m in zip(half.parameters(), master.parameters()):
        m.grad = h.grad.float() / SCALE
    optimizer.step()
    if step % 30 == 0 or step == 119:
        with torch.no_grad():
            full = (master(spectra * 5e4) - spectra).pow(2).mean()
        print(f"step {step} loss {full.item():.4e}")
