# expect: nothing
# Distillation with feature matching through a projection; the teacher is in eval mode without grad.

import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self, h):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(6, h), nn.ReLU())
        self.c = nn.Linear(h, 4)

    def forward(self, x):
        h = self.f(x)
        return h, self.c(h)


torch.manual_seed(0)
teacher, student = Net(64), Net(16)
teacher.eval()
proj = nn.Linear(16, 64)
opt = torch.optim.Adam([*student.parameters(), *proj.parameters()], lr=2e-3)
for i in range(25):
    x = torch.randn(32, 6)
    with torch.no_grad():
        ht, lt = teacher(x)
    hs, ls = student(x)
    kd = (
        F.kl_div(
            F.log_softmax(ls / 4, 1),
            F.log_softmax(lt / 4, 1),
            log_target=True,
            reduction="batchmean",
        )
        * 16
    )
    loss = kd + 0.5 * F.mse_loss(proj(hs), ht) + 0.1 * F.cross_entropy(ls, lt.argmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
