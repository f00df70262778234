"""Opacus: gradients of single examples, by hooks."""

import torch
from opacus import GradSampleModule

torch.manual_seed(0)
model = GradSampleModule(
    torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
)
x = torch.randn(6, 4)
loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
loss.backward()
for parameter in model.parameters():
    norms = parameter.grad_sample.flatten(1).norm(dim=1)
    print([round(value, 5) for value in norms.tolist()])
