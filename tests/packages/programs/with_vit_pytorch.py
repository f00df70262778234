"""a vision transformer, trained for a step"""

import torch
from vit_pytorch import ViT

torch.manual_seed(0)
vit = ViT(image_size=16, patch_size=4, num_classes=3, dim=16, depth=2, heads=2, mlp_dim=32)
loss = torch.nn.functional.cross_entropy(vit(torch.randn(2, 3, 16, 16)), torch.tensor([0, 2]))
loss.backward()
print(f"{loss.item():.5f} {vit.mlp_head.weight.grad.abs().sum().item():.4f}")
