# expect: param-not-in-optimizer line 27, 28
# The classifier head is replaced after the optimizer was built over the old one.

import torch
import torch.nn as nn

torch.manual_seed(49)


class SmallNet(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.fc = nn.Linear(4 * 4 * 4, classes)

    def forward(self, x):
        return self.fc(torch.relu(self.conv(x)).flatten(1))


def pretrained():
    net = SmallNet(classes=10)
    nn.init.kaiming_normal_(net.conv.weight)
    return net


net = pretrained()
optimizer = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
net.fc = nn.Linear(net.fc.in_features, 2)

images = torch.randn(60, 1, 6, 6)
labels = (images.mean(dim=(1, 2, 3)) > 0).long()
for epoch in range(10):
    for xb, yb in zip(images.split(20), labels.split(20)):
        loss = nn.functional.cross_entropy(net(xb), yb)
        net.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 3 == 0:
        print("epoch", epoch, "loss", loss.item())
