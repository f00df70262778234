# expect: nothing
# No backward at all: parameters are moved by an evolution strategy under no_grad.

import torch
from torch import nn

torch.manual_seed(405)
model = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
x = torch.randn(64, 3)
y = torch.tanh(x[:, :1] - x[:, 1:2])
theta = nn.utils.parameters_to_vector(model.parameters()).detach().clone()


@torch.no_grad()
def fitness(vector):
    nn.utils.vector_to_parameters(vector, model.parameters())
    return nn.functional.mse_loss(model(x), y).item()


first = fitness(theta)
for _ in range(30):
    noise = torch.randn(16, theta.numel())
    up = torch.tensor([fitness(theta + 0.1 * n) for n in noise])
    down = torch.tensor([fitness(theta - 0.1 * n) for n in noise])
    theta = theta - 0.1 * ((up - down) / 0.2) @ noise / 16
print("fitness", first, fitness(theta))
