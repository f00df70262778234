"""the table of a network's layers"""

import torch
from torchinfo import summary

net = torch.nn.Sequential(
    torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(144, 2)
)
print(summary(net, input_size=(2, 1, 8, 8), verbose=0))
