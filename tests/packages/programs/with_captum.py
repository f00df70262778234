"""Captum: integrated gradients, saliency and occlusion of a small network."""

import torch
from captum.attr import FeatureAblation, IntegratedGradients, LayerConductance, Saliency

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)).eval()
x = torch.randn(3, 4)
attributions, delta = IntegratedGradients(model).attribute(
    x, target=1, return_convergence_delta=True, n_steps=20
)
print([round(v, 4) for v in attributions.flatten().tolist()], f"{delta.abs().max().item():.4f}")
print([round(v, 4) for v in Saliency(model).attribute(x, target=0).flatten().tolist()])
print([round(v, 4) for v in FeatureAblation(model).attribute(x, target=0).flatten().tolist()])
layer = LayerConductance(model, model[0]).attribute(x, target=1, n_steps=10)
print([round(v, 4) for v in layer.flatten().tolist()])
