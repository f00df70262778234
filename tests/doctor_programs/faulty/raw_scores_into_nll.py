# expect: loss-activation-mismatch line 18, 28
# nll_loss expects log-probabilities but gets the raw scores of the last layer.

import torch
import torch.nn.functional as F
from torch import nn


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, padding=1)
        self.pool = nn.AdaptiveAvgPool2d(2)
        self.fc = nn.Linear(32, 3)

    def forward(self, x):
        x = self.pool(F.relu(self.conv(x)))
        return self.fc(x.flatten(1))


def train(model, optimizer, images, labels, epochs):
    model.train()
    for epoch in range(epochs):
        for i in range(0, len(images), 16):
            data, target = images[i : i + 16], labels[i : i + 16]
            optimizer.zero_grad()
            output = model(data)
            loss = F.nll_loss(output, target)
            loss.backward()
            optimizer.step()
        print("epoch", epoch, "loss", loss.item())


torch.manual_seed(122)
labels = torch.randint(0, 3, (64,))
images = torch.randn(64, 1, 8, 8) + labels.view(-1, 1, 1, 1)
model = ConvNet()
train(model, torch.optim.Adam(model.parameters(), lr=3e-3), images, labels, epochs=5)
