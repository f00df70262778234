"""five kinds of class activation maps of a small network"""

import torch
from pytorch_grad_cam import GradCAM, GradCAMPlusPlus, HiResCAM, LayerCAM, ScoreCAM
from pytorch_grad_cam.utils.model_targets import ClassifierOutputTarget
from torch import nn

torch.manual_seed(0)
network = nn.Sequential(
    nn.Conv2d(3, 6, 3, padding=1), nn.ReLU(), nn.Conv2d(6, 8, 3, padding=1), nn.ReLU(),
    nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4),
)  # fmt: skip
images = torch.randn(2, 3, 16, 16)
for method in (GradCAM, GradCAMPlusPlus, LayerCAM, HiResCAM, ScoreCAM):
    with method(model=network, target_layers=[network[2]]) as cam:
        found = cam(input_tensor=images, targets=[ClassifierOutputTarget(1)] * 2)
        print(method.__name__, found.shape, f"{found.mean():.4f}")
