# expect: aliased-buffer line 10
# The teacher is built from the student's own layers and is no copy of them.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(920)
student = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 4))
teacher = nn.Sequential(*student.children())
optimizer = torch.optim.Adam(student.parameters(), lr=3e-3)
labelled, free = torch.randn(40, 6), torch.randn(160, 6)
y = labelled[:, :4].argmax(1)
for step in range(25):
    with torch.no_grad():
        goal = F.softmax(teacher(free), dim=1)
    noisy = F.log_softmax(student(free + 0.1 * torch.randn_like(free)), dim=1)
    loss = F.cross_entropy(student(labelled), y) + F.kl_div(noisy, goal, reduction="batchmean")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for t, s in zip(teacher.parameters(), student.parameters()):
            t.mul_(0.95).add_(s, alpha=0.05)
    if step % 8 == 0:
        print(step, loss.item())
