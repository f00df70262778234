"""torchcde: a controlled differential equation along splines."""

import torch
import torchcde

torch.manual_seed(0)
t = torch.linspace(0, 1, 10)
x = torch.cat([t.expand(4, 10).unsqueeze(-1), torch.randn(4, 10, 2)], -1)


class F(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.l = torch.nn.Linear(5, 15)

    def forward(self, t, z):
        return self.l(z).tanh().view(*z.shape[:-1], 5, 3)


f = F()
r = torch.nn.Linear(5, 1)
opt = torch.optim.Adam([*f.parameters(), *r.parameters()], 1e-2)
for make, interp in [
    (torchcde.hermite_cubic_coefficients_with_backward_differences, torchcde.CubicSpline),
    (torchcde.natural_cubic_coeffs, torchcde.CubicSpline),
    (torchcde.linear_interpolation_coeffs, torchcde.LinearInterpolation),
]:
    X = interp(make(x))
    for adj in (True, False):
        opt.zero_grad()
        z = torchcde.cdeint(
            X=X,
            func=f,
            z0=torch.ones(4, 5),
            t=X.interval,
            adjoint=adj,
            method="rk4",
            options=dict(step_size=0.05),
        )
        loss = (r(z[:, -1]) - x[:, -1, 1:2]).pow(2).mean()
        loss.backward()
        opt.step()
        print(f"{loss.item():.5f}", *[f"{p.grad.norm().item():.5f}" for p in f.parameters()])
x[0, 3:5, 1] = float("nan")
print(f"{torchcde.natural_cubic_coeffs(x).abs().sum().item():.4f}")
print(torchcde.logsig_windows if hasattr(torchcde, "zzz") else "end")
