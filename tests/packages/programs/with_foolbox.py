"""Foolbox, which knows tensors by the module of their class: five attacks"""

import foolbox
import torch
from torch import nn

torch.manual_seed(0)
network = nn.Sequential(nn.Flatten(), nn.Linear(48, 16), nn.ReLU(), nn.Linear(16, 4)).eval()
model = foolbox.PyTorchModel(network, bounds=(0, 1))
x = torch.rand(4, 3, 4, 4)
y = network(x).argmax(-1)
print(foolbox.accuracy(model, x, y))
for attack in (
    foolbox.attacks.FGSM(), foolbox.attacks.LinfPGD(steps=4),
    foolbox.attacks.L2CarliniWagnerAttack(binary_search_steps=2, steps=5),
    foolbox.attacks.LinfDeepFoolAttack(steps=4), foolbox.attacks.L2AdditiveGaussianNoiseAttack(),
):  # fmt: skip
    torch.manual_seed(1)
    _, clipped, success = attack(model, x, y, epsilons=[0.01, 0.1])
    print(type(attack).__name__, f"{(clipped[1] - x).abs().sum().item():.4f}", success.sum().item())
