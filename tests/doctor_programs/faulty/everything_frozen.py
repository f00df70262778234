# expect: missing-requires-grad line 20, 22
# The freezing loop runs after the new head was attached and freezes the head as well.

import torch
from torch import nn


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.classifier = nn.Linear(8 * 4 * 4, 10)

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


torch.manual_seed(197)
model = Backbone()
model.classifier = nn.Linear(8 * 4 * 4, 2)
for parameter in model.parameters():
    parameter.requires_grad = False

optimizer = torch.optim.SGD(model.classifier.parameters(), lr=0.01, momentum=0.9)
criterion = nn.CrossEntropyLoss()
images = torch.randn(40, 3, 8, 8)
labels = torch.randint(0, 2, (40,))
for epoch in range(3):
    for i in range(0, 40, 10):
        optimizer.zero_grad()
        loss = criterion(model(images[i : i + 10]), labels[i : i + 10])
        loss.backward()
        optimizer.step()
    print("epoch", epoch, loss.item())
