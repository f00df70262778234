# expect: nothing

import clew as torch
import clew.nn as nn

# sparse autoencoder: most units off for one sample, on for others
torch.manual_seed(0)
D = torch.randn(24, 10)
enc, dec = nn.Linear(10, 48), nn.Linear(48, 10)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=3e-3)
for i in range(150):
    code = (torch.rand(64, 24) < 0.08).float() * torch.rand(64, 24)
    x = code @ D
    h = torch.relu(enc(x))
    loss = nn.functional.mse_loss(dec(h), x) + 1e-3 * h.abs().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 50 == 0:
        print(i, loss.item())
