# expect: backward-twice line 20, 24
# Two task losses share one trunk and each is back-propagated; the trunk's graph is gone.

import torch
from torch import nn

torch.manual_seed(80)
trunk = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 16), nn.Tanh())
age_head = nn.Linear(16, 1)
class_head = nn.Linear(16, 3)
optimizer = torch.optim.Adam(
    [*trunk.parameters(), *age_head.parameters(), *class_head.parameters()], lr=3e-3
)
x = torch.randn(64, 6)
age = x.abs().sum(dim=1, keepdim=True)
label = x[:, :3].argmax(dim=1)

for epoch in range(5):
    optimizer.zero_grad()
    features = trunk(x)
    loss_age = nn.functional.mse_loss(age_head(features), age)
    loss_class = nn.functional.cross_entropy(class_head(features), label)
    loss_age.backward()
    loss_class.backward()
    optimizer.step()
    print(epoch, loss_age.item(), loss_class.item())
