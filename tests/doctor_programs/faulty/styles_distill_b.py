# expect: loss-activation-mismatch line 14, 16
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(6)


def mlp(width, drop=0.0):
    return nn.Sequential(nn.Linear(12, width), nn.ReLU(), nn.Dropout(drop), nn.Linear(width, 5))


def kd_loss(student_logits, teacher_logits, T=3.0):
    log_p = F.softmax(student_logits / T, dim=-1)
    q = F.softmax(teacher_logits / T, dim=-1)
    return F.kl_div(log_p, q, reduction="batchmean") * T * T


x = torch.randn(320, 12)
y = (x @ torch.randn(12, 5)).argmax(1)
teacher = mlp(64, drop=0.1)
t_opt = torch.optim.Adam(teacher.parameters(), lr=5e-3)
for _ in range(40):
    t_opt.zero_grad()
    F.cross_entropy(teacher(x), y).backward()
    t_opt.step()

teacher.eval()
student = mlp(8)
params = list(student.parameters())
opt = torch.optim.Adam(params, lr=1e-2)
for epoch in range(5):
    for idx in torch.randperm(320).split(64):
        xb, yb = x[idx], y[idx]
        with torch.no_grad():
            soft = teacher(xb)
        out = student(xb)
        loss = 0.5 * F.cross_entropy(out, yb) + 0.5 * kd_loss(out, soft)
        opt.zero_grad()
        loss.backward()
        opt.step()
print(loss.item())
