"""Pyro: stochastic variational inference of a coin's bias."""

import pyro
import pyro.distributions as dist
import torch
from pyro.infer import SVI, Trace_ELBO
from pyro.optim import Adam
from torch.distributions import constraints

pyro.set_rng_seed(0)
data = torch.tensor([1.0] * 6 + [0.0] * 4)


def model(data):
    bias = pyro.sample("bias", dist.Beta(10.0, 10.0))
    with pyro.plate("data", len(data)):
        pyro.sample("obs", dist.Bernoulli(bias), obs=data)


def guide(data):
    a = pyro.param("a", torch.tensor(15.0), constraint=constraints.positive)
    b = pyro.param("b", torch.tensor(15.0), constraint=constraints.positive)
    pyro.sample("bias", dist.Beta(a, b))


svi = SVI(model, guide, Adam({"lr": 0.01}), loss=Trace_ELBO())
for _ in range(20):
    loss = svi.step(data)
print(f"{pyro.param('a').item():.3f} {pyro.param('b').item():.3f}")
