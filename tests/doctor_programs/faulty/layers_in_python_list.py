# expect: param-not-in-optimizer line 11, 22
# The hidden layers live in a plain list, model.parameters() does not contain them.

import torch
from torch import nn


class MLP(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.layers = [nn.Linear(sizes[i], sizes[i + 1]) for i in range(len(sizes) - 2)]
        self.out = nn.Linear(sizes[-2], sizes[-1])

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return self.out(x)


torch.manual_seed(47)
model = MLP([6, 32, 32, 1])
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
x = torch.rand(128, 6)
y = (x[:, :1] - x[:, 1:2]).abs() + x[:, 2:3] * x[:, 3:4]

for epoch in range(20):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    if epoch % 5 == 0:
        print(f"epoch {epoch:2d} | loss {loss.item():.5f}")
