"""nine attacks on a small network"""

import torch
import torchattacks
from torch import nn

# In single precision, rounding decides the sign of gradients that cancel.
torch.set_default_dtype(torch.float64)
torch.manual_seed(0)
network = nn.Sequential(nn.Conv2d(3, 6, 3, 2), nn.ReLU(), nn.Flatten(), nn.Linear(6 * 49, 4)).eval()
x, y = torch.rand(3, 3, 16, 16), torch.tensor([0, 1, 2])
for attack in (
    torchattacks.FGSM(network, eps=8 / 255), torchattacks.PGD(network, steps=4),
    torchattacks.BIM(network, steps=3), torchattacks.CW(network, steps=4),
    torchattacks.MIFGSM(network, steps=3), torchattacks.DeepFool(network, steps=4),
    torchattacks.TPGD(network, steps=3), torchattacks.Square(network, n_queries=6),
    torchattacks.APGD(network, steps=4),
):  # fmt: skip
    found = attack(x, y)
    print(type(attack).__name__, f"{(found - x).abs().sum().item():.4f}")
    print(f"{network(found).sum().item():.4f}")
