# expect: target-not-detached line 14, 15
# Consistency training: the clean prediction should be a fixed target for the noisy one.

import clew as torch
from clew import nn
import clew.nn.functional as F

torch.manual_seed(0)
teacher = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 4))
student = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 4))
opt = torch.optim.Adam([*student.parameters(), *teacher.parameters()], lr=1e-3)
for i in range(25):
    x = torch.randn(32, 6)
    target = teacher(x).softmax(1)
    loss = F.kl_div(F.log_softmax(student(x), 1), target, reduction="batchmean")
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
