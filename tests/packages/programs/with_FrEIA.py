"""FrEIA: an invertible network of five kinds of blocks."""

import FrEIA.framework as Ff
import FrEIA.modules as Fm
import numpy as np
import torch

torch.manual_seed(0)

np.random.seed(0)


def sub(i, o):
    return torch.nn.Sequential(torch.nn.Linear(i, 8), torch.nn.ReLU(), torch.nn.Linear(8, o))


inn = Ff.SequenceINN(4)
for M, kw in [
    (Fm.AllInOneBlock, dict(subnet_constructor=sub)),
    (Fm.RNVPCouplingBlock, dict(subnet_constructor=sub)),
    (Fm.GLOWCouplingBlock, dict(subnet_constructor=sub)),
    (Fm.PermuteRandom, {}),
]:
    inn.append(M, **kw)
opt = torch.optim.Adam(inn.parameters(), 1e-2)
x = torch.randn(32, 4)
for i in range(4):
    opt.zero_grad()
    z, j = inn(x)
    loss = (0.5 * (z**2).sum(1) - j).mean()
    loss.backward()
    opt.step()
    print(f"{loss.item():.5f}")
r, _ = inn(inn(x)[0], rev=True)
print(f"{(r - x).abs().max().item():.3f}")
