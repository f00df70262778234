"""a stochastic differential equation with a learned drift, also by the adjoint method"""

import torch
import torchsde


class Drift(torch.nn.Module):
    noise_type, sde_type = "diagonal", "ito"

    def __init__(self):
        super().__init__()
        self.theta = torch.nn.Parameter(torch.tensor(0.5))

    def f(self, t, y):
        return -self.theta * y

    def g(self, t, y):
        return 0.1 * torch.ones_like(y)


torch.manual_seed(0)
sde, ts = Drift(), torch.linspace(0, 1, 4)
for solve in (torchsde.sdeint, torchsde.sdeint_adjoint):
    torch.manual_seed(1)
    paths = solve(
        sde,
        torch.ones(3, 1),
        ts,
        dt=0.1,
        bm=torchsde.BrownianInterval(
            0.0, 1.0, size=(3, 1), entropy=5, levy_area_approximation="space-time"
        ),
    )
    sde.zero_grad()
    paths[-1].mean().backward()
    print(paths.shape, sde.theta.grad.item() < 0)
