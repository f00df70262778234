# expect: nothing
# SWA: an averaged model beside the trained one, with its own rate schedule.

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.swa_utils import SWALR, AveragedModel, update_bn

torch.manual_seed(233)
x = torch.randn(160, 6)
y = x[:, :3].argmax(1)
batches = list(zip(x.split(40), y.split(40)))
model = nn.Sequential(nn.Linear(6, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 3))
swa_model = AveragedModel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=10)
swa_scheduler = SWALR(optimizer, swa_lr=0.05)
first = None
for epoch in range(15):
    for xb, yb in batches:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(xb), yb)
        loss.backward()
        optimizer.step()
        first = loss.item() if first is None else first
    if epoch >= 10:
        swa_model.update_parameters(model)
        swa_scheduler.step()
    else:
        scheduler.step()
update_bn([xb for xb, _ in batches], swa_model)
swa_model.eval()
with torch.no_grad():
    last = F.cross_entropy(swa_model(x), y).item()
print(first, last)
