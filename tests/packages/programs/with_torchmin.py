"""torchmin: Rosenbrock's function by four methods, and a least-squares problem."""

import torch
import torchmin


def rosen(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


start = torch.tensor([1.3, 0.7, 0.8], dtype=torch.float64)
for method in ("bfgs", "l-bfgs", "newton-cg", "trust-exact"):
    found = torchmin.minimize(rosen, start, method=method, options={"max_iter": 5})
    print(f"{method} {found.fun.item():.6f} {found.x.sum().item():.5f}")
found = torchmin.least_squares(
    lambda x: torch.stack([10 * (x[1] - x[0] ** 2), 1 - x[0]]), start[:2]
)
print(f"{found.x.sum().item():.5f}")
