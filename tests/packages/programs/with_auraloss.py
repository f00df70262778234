"""auraloss: seven losses of sound, trained through."""

import auraloss
import numpy
import torch

torch.manual_seed(0)

numpy.random.seed(0)
x = torch.randn(2, 1, 8192)
y = torch.randn(2, 1, 8192)
net = torch.nn.Conv1d(1, 1, 9, padding=4)
opt = torch.optim.Adam(net.parameters(), 1e-2)
losses = [
    auraloss.freq.MultiResolutionSTFTLoss(),
    auraloss.time.SISDRLoss(),
    auraloss.freq.STFTLoss(),
    auraloss.time.ESRLoss(),
    auraloss.time.LogCoshLoss(),
    auraloss.time.SNRLoss(),
    auraloss.freq.RandomResolutionSTFTLoss(max_fft_size=1024),
]
for i in range(3):
    opt.zero_grad()
    vals = [loss(net(x), y) for loss in losses]
    s = sum(vals)
    s.backward()
    opt.step()
    print(*[f"{v.item():.5f}" for v in vals])
f = auraloss.perceptual.FIRFilter(filter_type="aw", fs=16000)
print([f"{v.abs().mean().item():.5f}" for v in f(net(x), y)])
