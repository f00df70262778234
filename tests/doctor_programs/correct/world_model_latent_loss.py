# expect: nothing
# A latent dynamics model with balancing: each side is detached in one of two terms.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(715)
encoder, dynamics, decoder = nn.Linear(6, 8), nn.Linear(10, 8), nn.Linear(8, 6)
params = [p for m in (encoder, dynamics, decoder) for p in m.parameters()]
optimizer = torch.optim.Adam(params, lr=5e-3)
mixing = torch.randn(6, 6) / 6**0.5
losses = []
for _ in range(80):
    obs, action = torch.randn(64, 6), torch.randn(64, 2)
    nxt = torch.tanh(obs @ mixing) + 0.3 * action.repeat(1, 3)
    z, z_next = encoder(obs), encoder(nxt)
    prior = dynamics(torch.cat([z, action], dim=1))
    balance = 0.8 * F.mse_loss(prior, z_next.detach()) + 0.2 * F.mse_loss(prior.detach(), z_next)
    loss = F.mse_loss(decoder(z_next), nxt) + F.mse_loss(decoder(z), obs) + balance
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
