# expect: nothing
# An equilibrium model: its layers run without gradients inside of each training step.

import torch
from torch import nn

torch.manual_seed(15)


class Equilibrium(nn.Module):
    def __init__(self):
        super().__init__()
        self.again, self.given = nn.Linear(8, 8), nn.Linear(3, 8, bias=False)
        nn.init.orthogonal_(self.again.weight, gain=0.5)

    def step(self, z, x):
        return torch.tanh(self.again(z) + self.given(x))

    def forward(self, x):
        with torch.no_grad():
            z = torch.zeros(len(x), 8)
            for _ in range(8):
                z = self.step(z, x)
        return self.step(z, x)


model = nn.Sequential(Equilibrium(), nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
x = torch.randn(100, 3)
y = x[:, :1].tanh() + x[:, 1:2] * x[:, 2:]
for step in range(90):
    index = torch.randint(0, 100, (40,))
    loss = nn.functional.mse_loss(model(x[index]), y[index])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
