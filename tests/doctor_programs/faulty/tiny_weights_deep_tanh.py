# expect: vanishing-gradient line 12, 15, 20
# Weights of 0.01 in twelve tanh layers shrink signal and gradient to nothing.

import torch
from torch import nn


class DeepTanh(nn.Module):
    def __init__(self, depth=12, width=32):
        super().__init__()
        sizes = [8] + [width] * depth
        self.layers = nn.ModuleList(nn.Linear(sizes[i], sizes[i + 1]) for i in range(depth))
        self.out = nn.Linear(width, 2)
        for layer in self.layers:
            nn.init.normal_(layer.weight, std=0.01)
            nn.init.zeros_(layer.bias)

    def forward(self, x):
        for layer in self.layers:
            x = torch.tanh(layer(x))
        return self.out(x)


torch.manual_seed(328)
x = torch.randn(100, 8)
y = (x[:, 0] > 0).long()
model = DeepTanh()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(15):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 5 == 0:
        print(epoch, loss.item(), model.layers[0].weight.grad.norm().item())
