"""kornia: filters and geometry that gradients go through."""

import kornia
import torch

torch.manual_seed(0)
image = torch.rand(1, 3, 16, 16)
angle = torch.tensor([10.0], requires_grad=True)
target = kornia.geometry.transform.rotate(image, torch.tensor([25.0]))
for _ in range(3):
    loss = (kornia.geometry.transform.rotate(image, angle) - target).square().mean()
    loss.backward()
    with torch.no_grad():
        angle -= 1000 * angle.grad
        angle.grad = None
    print(f"{loss.item():.5f}")
blurred = kornia.filters.gaussian_blur2d(image, (3, 3), (1.0, 1.0))
print(f"{blurred.mean().item():.5f} {kornia.filters.sobel(image).mean().item():.5f}")
