# expect: dead-relu or bad-learning-rate line 13, 15, 19
# House prices as targets with SGD: the first steps throw every hidden unit below zero for good.

import torch
from torch import nn

torch.manual_seed(105)
area = torch.rand(100, 1) * 1.5 + 0.5
rooms = torch.randint(1, 7, (100, 1)).float() / 3
x = torch.cat([area, rooms], dim=1)
price = 150.0 * area + 40.0 * rooms + 30.0

hidden = nn.Linear(2, 24)
output = nn.Linear(24, 1)
optimizer = torch.optim.SGD([*hidden.parameters(), *output.parameters()], lr=0.05)


def forward(x):
    return output(torch.relu(hidden(x)))


for step in range(60):
    loss = (forward(x) - price).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, loss.item(), hidden.weight.grad.abs().max().item())
