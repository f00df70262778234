# expect: dead-relu line 11, 12, 13, 14, 17
# BatchNorm's shift starts at -10, every unit behind it is off for all samples.

import torch
from torch import nn


class ConvBlock(nn.Module):
    def __init__(self, c_in, c_out):
        super().__init__()
        self.conv = nn.Conv1d(c_in, c_out, 3, padding=1)
        self.bn = nn.BatchNorm1d(c_out)
        self.relu = nn.ReLU()
        nn.init.constant_(self.bn.bias, -10.0)

    def forward(self, x):
        return self.relu(self.bn(self.conv(x)))


torch.manual_seed(330)
block, head = ConvBlock(1, 8), nn.Linear(8, 2)
optimizer = torch.optim.Adam([*block.parameters(), *head.parameters()], lr=1e-3)
signal = torch.randn(60, 1, 16)
label = (signal.squeeze(1).std(dim=1) > 1.0).long()
for epoch in range(8):
    for xb, yb in zip(signal.split(20), label.split(20)):
        loss = nn.functional.cross_entropy(head(block(xb).mean(dim=2)), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 3 == 0:
        print(epoch, loss.item())
