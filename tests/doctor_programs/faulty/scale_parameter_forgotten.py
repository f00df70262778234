# expect: param-unused line 11, 18
# The custom normalisation registers gamma and beta, forward() only uses beta.

import torch
from torch import nn


class ChannelNorm(nn.Module):
    def __init__(self, channels, eps=1e-5):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(1, channels, 1, 1))
        self.beta = nn.Parameter(torch.zeros(1, channels, 1, 1))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(dim=1, keepdim=True)
        var = x.var(dim=1, keepdim=True, unbiased=False)
        return (x - mean) / torch.sqrt(var + self.eps) + self.beta


def conv_block(c_in, c_out):
    return nn.Sequential(nn.Conv2d(c_in, c_out, 3, padding=1), ChannelNorm(c_out), nn.ReLU())


torch.manual_seed(57)
net = nn.Sequential(
    conv_block(1, 6), conv_block(6, 6), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(6, 2)
)
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
images = torch.randn(40, 1, 7, 7)
labels = torch.randint(0, 2, (40,))
images[labels == 1] += torch.linspace(-1, 1, 7)
for epoch in range(10):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(net(images), labels)
    loss.backward()
    optimizer.step()
    if epoch % 3 == 0:
        print("loss", loss.item())
