# expect: vanishing-gradient or bad-init or exploding-gradient line 15
import math
import torch
from torch import nn

torch.manual_seed(22)


class Sine(nn.Module):
    def __init__(self, i, o, w0=10.0, first=False):
        super().__init__()
        self.linear, self.w0 = nn.Linear(i, o), w0
        with torch.no_grad():
            bound = 1 / i if first else math.sqrt(6 / i) / w0
            self.linear.weight.zero_()

    def forward(self, x):
        return torch.sin(self.w0 * self.linear(x))


class Siren(nn.Module):
    def __init__(self, h=48):
        super().__init__()
        self.net = nn.Sequential(Sine(2, h, first=True), Sine(h, h), Sine(h, h), nn.Linear(h, 1))

    def forward(self, coords):
        coords = coords.clone().detach().requires_grad_(True)
        return self.net(coords), coords


side = torch.linspace(-1, 1, 24)
grid = torch.stack(torch.meshgrid(side, side, indexing="ij"), -1).view(-1, 2)
image = (torch.sin(5 * grid[:, :1]) * torch.cos(3 * grid[:, 1:])).clone()
true_grad = torch.cat([5 * torch.cos(5 * grid[:, :1]) * torch.cos(3 * grid[:, 1:]),
                       -3 * torch.sin(5 * grid[:, :1]) * torch.sin(3 * grid[:, 1:])], 1)
model = Siren()
optim = torch.optim.Adam(lr=1e-3, params=model.parameters())
for step in range(40):
    pick = torch.randint(0, len(grid), (128,))
    out, coords = model(grid[pick])
    slope = torch.autograd.grad(out, coords, grad_outputs=torch.ones_like(out), create_graph=True)[0]
    value_loss = ((out - image[pick]) ** 2).mean()
    slope_loss = ((slope - true_grad[pick]) ** 2).mean()
    loss = value_loss + 0.05 * slope_loss
    optim.zero_grad()
    loss.backward()
    optim.step()
    if step % 10 == 0:
        print(step, value_loss.item(), slope_loss.item())
