# expect: scheduler-misuse line 16, 22
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(6)
x = torch.randn(160, 6)
y = (x.sum(1) > 0).long()
body, head = nn.Sequential(nn.Linear(6, 24), nn.ReLU()), nn.Linear(24, 2)
body.requires_grad_(False)
optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
for epoch in range(10):
    if epoch == 3:
        body.requires_grad_(True)
        optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.05)
    for rows in torch.randperm(160).split(40):
        loss = F.cross_entropy(head(body(x[rows])), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    schedule.step()
