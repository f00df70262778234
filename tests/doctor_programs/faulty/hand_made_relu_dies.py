# expect: dead-relu line 11, 12, 15
# The threshold in the hand-made activation lies above all pre-activations.

import torch
from torch import nn


class Thresholded(nn.Module):
    def __init__(self, dim_in, dim_out, threshold=12.0):
        super().__init__()
        self.fc = nn.Linear(dim_in, dim_out)
        self.threshold = threshold

    def forward(self, x):
        return torch.relu(self.fc(x) - self.threshold)


torch.manual_seed(913)
model = nn.Sequential(Thresholded(6, 32), nn.Linear(32, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
x = torch.randn(100, 6)
y = (x[:, 0] > 0).long()
for epoch in range(15):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 5 == 0:
        print(epoch, loss.item())
