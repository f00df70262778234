"""GPyTorch: an exact Gaussian process whose hyperparameters are trained."""

import math

import gpytorch
import torch

torch.manual_seed(0)
x = torch.linspace(0, 1, 20)
y = torch.sin(x * 2 * math.pi) + 0.1 * torch.randn(20)


class Model(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood):
        super().__init__(x, y, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


likelihood = gpytorch.likelihoods.GaussianLikelihood()
model = Model(x, y, likelihood)
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
objective = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
model.train()
for _ in range(10):
    optimizer.zero_grad()
    loss = -objective(model(x), y)
    loss.backward()
    optimizer.step()
print(f"{loss.item():.5f} {model.covar_module.base_kernel.lengthscale.item():.5f}")
model.eval()
likelihood.eval()
with torch.no_grad():
    print([round(v, 4) for v in likelihood(model(torch.tensor([0.25, 0.75]))).mean.tolist()])
