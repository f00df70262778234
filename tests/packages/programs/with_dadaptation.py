"""D-Adaptation: five optimizers that find their own rate."""

import dadaptation
import torch

torch.manual_seed(0)
for kind in (
    dadaptation.DAdaptAdam,
    dadaptation.DAdaptSGD,
    dadaptation.DAdaptAdaGrad,
    dadaptation.DAdaptLion,
    dadaptation.DAdaptAdan,
):
    torch.manual_seed(0)
    n = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    x = torch.randn(16, 4)
    y = x.sum(1, keepdim=True)
    opt = kind(n.parameters(), lr=1.0)
    for i in range(6):
        opt.zero_grad()
        loss = (n(x) - y).pow(2).mean()
        loss.backward()
        opt.step()
    print(kind.__name__, f"{loss.item():.5f}")
