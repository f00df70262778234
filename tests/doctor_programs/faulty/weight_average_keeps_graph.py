# expect: graph-leak line 15
# The running average of the weights is computed with gradients on and grows a graph per step.

import torch
from torch import nn


class AveragedWeights:
    def __init__(self, model, decay=0.95):
        self.decay = decay
        self.values = [p.detach().clone() for p in model.parameters()]

    def update(self, model):
        self.values = [
            self.decay * old + (1 - self.decay) * p
            for old, p in zip(self.values, model.parameters())
        ]


torch.manual_seed(188)
model = nn.Sequential(nn.Linear(5, 20), nn.ReLU(), nn.Linear(20, 1))
average = AveragedWeights(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
x = torch.randn(100, 5)
y = x.norm(dim=1, keepdim=True)
for step in range(80):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    average.update(model)
    if step % 20 == 0:
        print(step, loss.item(), average.values[0].norm().item())
