# expect: nothing
# log_softmax in forward() and NLLLoss outside: the right pair.

import torch
import torch.nn.functional as F
from torch import nn


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, padding=1)
        self.fc = nn.Linear(8 * 4 * 4, 3)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv(x)), 2)
        return F.log_softmax(self.fc(x.flatten(1)), dim=1)


torch.manual_seed(244)
labels = torch.randint(0, 3, (90,))
images = torch.randn(90, 1, 8, 8)
images[labels == 1, :, :4] += 1.0
images[labels == 2, :, 4:] += 1.0
net = ConvNet()
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
losses = []
for _ in range(8):
    for xb, yb in zip(images.split(30), labels.split(30)):
        optimizer.zero_grad()
        loss = F.nll_loss(net(xb), yb)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
print(losses[0], losses[-1])
