"""Zennit: attributions by four rules of relevance."""

import torch
from zennit.attribution import Gradient, IntegratedGradients, SmoothGrad
from zennit.canonizers import SequentialMergeBatchNorm
from zennit.composites import EpsilonAlpha2Beta1, EpsilonGammaBox, EpsilonPlusFlat, GuidedBackprop

torch.manual_seed(0)
n = torch.nn.Sequential(
    torch.nn.Conv2d(1, 4, 3),
    torch.nn.BatchNorm2d(4),
    torch.nn.ReLU(),
    torch.nn.MaxPool2d(2),
    torch.nn.Flatten(),
    torch.nn.Linear(36, 3),
).eval()
x = torch.randn(2, 1, 8, 8, requires_grad=True)
for c in (
    EpsilonPlusFlat(canonizers=[SequentialMergeBatchNorm()]),
    EpsilonGammaBox(low=-3.0, high=3.0),
    GuidedBackprop(),
    EpsilonAlpha2Beta1(),
):
    with Gradient(model=n, composite=c) as a:
        o, r = a(x, torch.eye(3)[[0, 1]])
        print(
            type(c).__name__,
            f"{o.sum().item():.5f}",
            f"{r.sum().item():.5f}",
            f"{r.abs().sum().item():.5f}",
        )
with SmoothGrad(noise_level=0.1, n_iter=3, model=n) as a:
    print(f"{a(x.detach(), torch.eye(3)[[0, 1]])[1].abs().sum().item():.4f}")
with IntegratedGradients(n_iter=3, model=n) as a:
    print(f"{a(x.detach(), torch.eye(3)[[0, 1]])[1].abs().sum().item():.4f}")
