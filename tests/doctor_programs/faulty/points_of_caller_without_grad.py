# expect: missing-requires-grad line 38
import torch
import torch.nn as nn

torch.manual_seed(35)
OMEGA, ZETA = 3.0, 0.1


class PINN(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, t):
        return self.net(t)


def derivative(u, t):
    return torch.autograd.grad(u, t, grad_outputs=torch.ones_like(u), create_graph=True)[0]


def residual(model, t):
    u = model(t)
    du = derivative(u, t)
    ddu = derivative(du, t)
    return ddu + 2 * ZETA * OMEGA * du + OMEGA**2 * u


def initial_loss(model):
    t0 = torch.zeros(1, 1, requires_grad=True)
    u0 = model(t0)
    return (u0 - 1).pow(2).mean() + derivative(u0, t0).pow(2).mean()


def train(model, iters=150):
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for it in range(iters):
        t = torch.rand(64, 1) * 2
        loss = initial_loss(model) + 0.02 * residual(model, t).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if it % 30 == 0:
            print(f"it {it} loss {loss.item():.4f}")
    return model


train(PINN())
