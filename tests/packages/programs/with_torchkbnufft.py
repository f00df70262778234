"""torchkbnufft: Fourier transforms at any frequencies, and their adjoints."""

import numpy as np
import torch
import torchkbnufft as tk

torch.manual_seed(0)
x = torch.randn(1, 1, 16, 16, dtype=torch.complex64).requires_grad_()
k = torch.rand(2, 50) * 2 * np.pi - np.pi
nu = tk.KbNufft(im_size=(16, 16))
ad = tk.KbNufftAdjoint(im_size=(16, 16))
y = nu(x, k)
z = ad(y, k)
print(f"{y.abs().sum().item():.3f} {z.abs().sum().item():.3f}")
y.abs().pow(2).sum().backward()
print(f"{x.grad.abs().sum().item():.2f}")
print(f"{tk.calc_density_compensation_function(k, (16, 16)).abs().sum().item():.4f}")
t = tk.ToepNufft()
kern = tk.calc_toeplitz_kernel(k, (16, 16))
print(f"{t(x.detach(), kern).abs().sum().item():.2f}")
