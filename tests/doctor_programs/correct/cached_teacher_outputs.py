# expect: nothing
# Teacher outputs are computed once and kept; they carry no graph.

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(128, 5)
teacher = nn.Sequential(nn.Linear(5, 64), nn.ReLU(), nn.Linear(64, 4)).eval()
with torch.no_grad():
    cache = [teacher(b).softmax(1) for b in x.split(16)]
student = nn.Linear(5, 4)
opt = torch.optim.SGD(student.parameters(), lr=0.3)
for epoch in range(5):
    for xb, t in zip(x.split(16), cache):
        loss = -(t * student(xb).log_softmax(1)).sum(1).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
print(loss.item())
