"""multiplications and parameters of a network counted by hooks"""

import torch
from thop import profile

net = torch.nn.Sequential(
    torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(144, 2)
)
print(profile(net, inputs=(torch.randn(1, 1, 8, 8),), verbose=False))
