# expect: vanishing-gradient line 15, 19
# Raw pixel values of 0-255 drive tanh into saturation, its derivative is zero.

import torch
from torch import nn

torch.manual_seed(99)
pixels = torch.randint(0, 256, (100, 64)).float()
labels = (pixels[:, :32].mean(1) > pixels[:, 32:].mean(1)).long()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(64, 32)
        self.out = nn.Linear(32, 2)

    def forward(self, x):
        h = torch.tanh(self.hidden(x))
        return self.out(h)


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(10):
    for xb, yb in zip(pixels.split(25), labels.split(25)):
        loss = nn.functional.cross_entropy(net(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 3 == 0:
        print(epoch, loss.item(), net.hidden.weight.grad.abs().max().item())
