"""a Gaussian process fitted, acquisition functions optimized"""

import torch
from botorch.models import SingleTaskGP
from botorch.fit import fit_gpytorch_mll
from gpytorch.mlls import ExactMarginalLogLikelihood
from botorch.acquisition import LogExpectedImprovement, qExpectedImprovement, UpperConfidenceBound
from botorch.optim import optimize_acqf

torch.manual_seed(0)
X = torch.rand(10, 2, dtype=torch.double)
Y = 1 - (X - 0.5).norm(dim=-1, keepdim=True)
gp = SingleTaskGP(X, Y)
mll = ExactMarginalLogLikelihood(gp.likelihood, gp)
fit_gpytorch_mll(mll)
gp.eval()
print(f"{gp.posterior(X[:2]).mean.mean().item():.3f}")
acq = UpperConfidenceBound(gp, beta=0.1)
c, v = optimize_acqf(
    acq,
    bounds=torch.stack([torch.zeros(2), torch.ones(2)]).double(),
    q=1,
    num_restarts=3,
    raw_samples=16,
)
print([round(float(z), 1) for z in c[0]], f"{v.item():.2f}")
acq = qExpectedImprovement(gp, best_f=Y.max())
print(acq(torch.rand(3, 2, 2, dtype=torch.double)).shape)
