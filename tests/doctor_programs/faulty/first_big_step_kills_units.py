# expect: dead-relu or bad-learning-rate line 11, 13, 15
# Momentum and a large rate on unscaled targets switch off the hidden layer for good.

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.rand(256, 4) * 10
y = 50 * x[:, :1] + 200
layer1 = nn.Linear(4, 40)
layer2 = nn.Linear(40, 1)
opt = torch.optim.SGD([*layer1.parameters(), *layer2.parameters()], lr=0.01)
for epoch in range(40):
    hidden = F.relu(layer1(x))
    loss = F.mse_loss(layer2(hidden), y)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_([*layer1.parameters(), *layer2.parameters()], 2000.0)
    opt.step()
    if epoch % 10 == 0:
        print(epoch, loss.item())
