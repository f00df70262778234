"""a denoising diffusion model: loss, gradients, samples"""

import torch
from denoising_diffusion_pytorch import GaussianDiffusion1D, Unet1D

torch.manual_seed(0)
net = Unet1D(dim=8, dim_mults=(1, 2), channels=4)
diffusion = GaussianDiffusion1D(net, seq_length=16, timesteps=5, objective="pred_v")
loss = diffusion(torch.rand(2, 4, 16))
loss.backward()
print(
    f"{loss.item():.5f} {sum(p.grad.abs().sum().item() for p in net.parameters() if p.grad is not None):.2f}"
)
