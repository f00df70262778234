# expect: exploding-gradient line 19
# Convolution weights with standard deviation 1 amplify the image through six layers.

import torch
import torch.nn.functional as F
from torch import nn


class Plain(nn.Module):
    def __init__(self, channels=12, depth=6):
        super().__init__()
        self.stem = nn.Conv2d(1, channels, 3, padding=1)
        self.convs = nn.ModuleList(
            nn.Conv2d(channels, channels, 3, padding=1) for _ in range(depth)
        )
        self.fc = nn.Linear(channels, 2)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                module.weight.data.normal_(0.0, 1.0)

    def forward(self, x):
        x = F.relu(self.stem(x))
        for conv in self.convs:
            x = F.relu(conv(x))
        return self.fc(x.mean(dim=(2, 3)))


torch.manual_seed(329)
images = torch.randn(24, 1, 6, 6)
labels = torch.randint(0, 2, (24,))
net = Plain()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(6):
    loss = F.cross_entropy(net(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.3e}")
