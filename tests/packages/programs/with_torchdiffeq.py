"""torchdiffeq: a neural ODE, by backpropagation and by the adjoint method."""

import torch
from torchdiffeq import odeint, odeint_adjoint

torch.manual_seed(0)


class Field(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(
            torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2)
        )

    def forward(self, t, y):
        return self.net(y)


field, start, times = Field(), torch.tensor([[1.0, 0.0]]), torch.linspace(0, 1, 4)
for solve in (odeint, odeint_adjoint):
    field.zero_grad()
    loss = solve(field, start, times, method="rk4")[-1].square().sum()
    loss.backward()
    print(f"{loss.item():.6f} {field.net[0].weight.grad.abs().sum().item():.5f}")
print(f"{odeint(field, start, times)[-1].sum().item():.5f}")
