"""TorchANI: atomic environments of a molecule, with forces."""

import torch
from torchani.aev import AEVComputer

computer = AEVComputer.like_1x()
species = torch.tensor([[0, 1, 1, 1, 1]])
places = torch.tensor(
    [[[0.03, 0.006, 0.01], [-0.83, 0.39, -0.26], [-0.66, -0.84, 0.2], [0.45, 0.5, 0.85],
      [0.67, -0.05, -0.89]]],
    requires_grad=True,
)  # fmt: skip
environments = computer(species, places)
print(tuple(environments.shape), f"{environments.sum().item():.4f}")
environments.pow(2).sum().backward()
print(f"{places.grad.norm().item():.4f}")
