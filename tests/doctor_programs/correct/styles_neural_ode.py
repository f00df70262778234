# expect: nothing
import torch
import torch.nn as nn

torch.manual_seed(27)


class Field(nn.Module):
    def __init__(self, d=2, h=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d, h), nn.Tanh(), nn.Linear(h, d))

    def forward(self, t, y):
        return self.net(y ** 3)


def rk4(f, y, t, dt):
    k1 = f(t, y)
    k2 = f(t + dt / 2, y + dt / 2 * k1)
    k3 = f(t + dt / 2, y + dt / 2 * k2)
    k4 = f(t + dt, y + dt * k3)
    return y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def odeint(f, y0, ts):
    ys = [y0]
    for a, b in zip(ts[:-1], ts[1:]):
        ys.append(rk4(f, ys[-1], a, b - a))
    return torch.stack(ys)


true = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
ts = torch.linspace(0, 1.0, 8)
with torch.no_grad():
    y0 = torch.tensor([[2.0, 0.0], [1.5, 0.5], [0.5, 1.2]])
    ref = odeint(lambda t, y: (y ** 3) @ true.t() * 0.3, y0, ts)
func = Field()
opt = torch.optim.Adam(func.parameters(), lr=1e-2)
for it in range(15):
    opt.zero_grad()
    loss = (odeint(func, y0, ts) - ref).abs().mean()
    loss.backward()
    opt.step()
print(loss.item())
