"""seven optimizers, three steps each"""

import pytorch_optimizer
import torch

for name in ("AdaBelief", "Lamb", "Lion", "RAdam", "Ranger", "ADOPT", "Prodigy"):
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    optimizer = getattr(pytorch_optimizer, name)(net.parameters(), lr=1e-2)
    for _ in range(3):
        loss = net(torch.randn(8, 3)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(name, f"{net[0].weight.sum().item():.4f}")
