# expect: backward-twice line 45, 50
"""Fits a spiral with an RK4 integrator written by hand."""
import torch
from torch import nn

torch.manual_seed(3)
TRUE = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])


def rk4(f, y, dt):
    k1 = f(y)
    k2 = f(y + dt * k1 / 2)
    k3 = f(y + dt * k2 / 2)
    k4 = f(y + dt * k3)
    return y + dt * (k1 + 2 * k2 + 2 * k3 + k4) / 6


def odeint(f, y0, steps, dt):
    ys = [y0]
    for _ in range(steps):
        ys.append(rk4(f, ys[-1], dt))
    return torch.stack(ys)


class Dynamics(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))
        for m in self.net:
            if isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, std=0.1)
                nn.init.zeros_(m.bias)

    def forward(self, y):
        z = self.net(y ** 3)
        return z


with torch.no_grad():
    truth = odeint(lambda y: (y ** 3) @ TRUE.T, torch.tensor([[2.0, 0.0]]), 200, 0.025)
func = Dynamics()
opt = torch.optim.RMSprop(func.parameters(), lr=1e-3)
smooth = None
starts = torch.randint(0, 180, (16,))
pred = odeint(func, truth[starts, 0], 10, 0.025)
for it in range(50):
    want = torch.stack([truth[starts + k, 0] for k in range(11)])
    loss = (pred - want).abs().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    smooth = loss.item() if smooth is None else 0.9 * smooth + 0.1 * loss.item()
print(smooth)
