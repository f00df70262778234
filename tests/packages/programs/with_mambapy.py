"""mambapy: selective state spaces, by a parallel scan and step by step."""

import torch
from mambapy.mamba import Mamba, MambaConfig

torch.manual_seed(0)
m = Mamba(MambaConfig(d_model=8, n_layers=2))
x = torch.randn(2, 9, 8)
m2 = Mamba(MambaConfig(d_model=8, n_layers=2, pscan=False))
for n in (m, m2):
    opt = torch.optim.Adam(n.parameters(), 1e-2)
    for i in range(3):
        opt.zero_grad()
        loss = n(x).pow(2).mean()
        loss.backward()
        opt.step()
        print(f"{loss.item():.5f}")
