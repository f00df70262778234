# expect: loss-activation-mismatch line 33
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(19)


class Head(nn.Module):
    def __init__(self, i=20, h=48, o=16):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(i, h), nn.GELU(), nn.Linear(h, h), nn.GELU())
        self.last = nn.Linear(h, o, bias=False)

    def forward(self, x):
        return self.last(F.normalize(self.mlp(x), dim=-1))


class DINOLoss(nn.Module):
    def __init__(self, dim, student_temp=0.1, teacher_temp=0.06, momentum=0.9):
        super().__init__()
        self.st, self.tt, self.m = student_temp, teacher_temp, momentum
        self.register_buffer("center", torch.zeros(1, dim))

    def forward(self, student_views, teacher_views):
        total, n = 0.0, 0
        for i, t in enumerate(teacher_views):
            target = F.softmax((t - self.center) / self.tt, dim=-1)
            for j, s in enumerate(student_views):
                if i == j:
                    continue
                total = total - (target * F.softmax(s / self.st, dim=-1)).sum(-1).mean()
                n += 1
        self.update(torch.cat(teacher_views))
        return total / n

    @torch.no_grad()
    def update(self, out):
        self.center = self.m * self.center + (1 - self.m) * out.mean(0, keepdim=True)


student = Head()
teacher = copy.deepcopy(student)
for p in teacher.parameters():
    p.requires_grad = False
criterion = DINOLoss(16)
opt = torch.optim.AdamW(student.parameters(), lr=1e-3)
base = torch.randn(256, 20)
for it in range(40):
    x = base[torch.randint(0, 256, (32,))]
    views = [x + 0.2 * torch.randn_like(x) for _ in range(2)]
    with torch.no_grad():
        t_out = [teacher(v) for v in views]
    s_out = [student(v) for v in views]
    loss = criterion(s_out, t_out)
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        m = 0.99
        for ps, pt in zip(student.parameters(), teacher.parameters()):
            pt.data.mul_(m).add_((1 - m) * ps.detach().data)
print(loss.item(), criterion.center.norm().item())
