# expect: param-not-in-optimizer line 16, 25
# reset() rebuilds the encoder after the optimizer had taken the parameters of the first one.

import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(7, 20)
        self.head = nn.Linear(20, 2)

    def reset(self):
        self.encoder = nn.Linear(7, 20)
        nn.init.kaiming_normal_(self.encoder.weight)

    def forward(self, x):
        return self.head(torch.relu(self.encoder(x)))


torch.manual_seed(905)
model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
model.reset()
x = torch.randn(90, 7)
y = (x[:, 0] * x[:, 1] > 0).long()
for epoch in range(12):
    model.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    if epoch % 4 == 0:
        print(epoch, loss.item())
