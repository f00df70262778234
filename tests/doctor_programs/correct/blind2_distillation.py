# expect: nothing

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
teacher = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 4))
student = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4))


def data():
    x = torch.randn(64, 8)
    return x, x[:, :4].argmax(1)


o = torch.optim.Adam(teacher.parameters(), lr=5e-3)
for i in range(40):
    x, y = data()
    l = F.cross_entropy(teacher(x), y)
    o.zero_grad()
    l.backward()
    o.step()
teacher.eval()
o = torch.optim.Adam(student.parameters(), lr=5e-3)
T = 3.0
for i in range(40):
    x, y = data()
    with torch.no_grad():
        tl = teacher(x)
    sl = student(x)
    kd = F.kl_div(F.log_softmax(sl / T, 1), F.softmax(tl / T, 1), reduction="batchmean") * T * T
    loss = 0.7 * kd + 0.3 * F.cross_entropy(sl, y)
    o.zero_grad()
    loss.backward()
    o.step()
print(loss.item())
