# expect: nothing

import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
X = torch.randn(320, 10)
y = X[:, :4].argmax(1)
teacher = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 4))
opt = torch.optim.Adam(teacher.parameters(), lr=5e-3)
for ep in range(6):
    for i in torch.randperm(320).split(32):
        opt.zero_grad()
        F.cross_entropy(teacher(X[i]), y[i]).backward()
        opt.step()
teacher.eval()
student = nn.Sequential(nn.Linear(10, 12), nn.ReLU(), nn.Linear(12, 4))
opt = torch.optim.Adam(student.parameters(), lr=5e-3)
T = 3.0
for ep in range(6):
    for i in torch.randperm(320).split(32):
        with torch.no_grad():
            soft = F.softmax(teacher(X[i]) / T, dim=1)
        out = student(X[i])
        kd = F.kl_div(F.log_softmax(out / T, dim=1), soft, reduction="batchmean") * T * T
        loss = 0.7 * kd + 0.3 * F.cross_entropy(out, y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(ep, loss.item())
