# expect: target-not-detached line 25, 26
# The mean teacher is evaluated with gradients, the consistency loss flows into it.

import copy

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(316)
student = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3))
teacher = copy.deepcopy(student)
optimizer = torch.optim.Adam(student.parameters(), lr=3e-3)
labelled, unlabelled = torch.randn(30, 6), torch.randn(120, 6)
y = labelled[:, :3].argmax(1)


def update_teacher(decay=0.97):
    for t, s in zip(teacher.parameters(), student.parameters()):
        t.data.mul_(decay).add_(s.data, alpha=1 - decay)


for step in range(25):
    noisy = unlabelled + 0.1 * torch.randn_like(unlabelled)
    goal = F.softmax(teacher(unlabelled), dim=1)
    consistency = F.mse_loss(F.softmax(student(noisy), dim=1), goal)
    loss = F.cross_entropy(student(labelled), y) + consistency
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    update_teacher()
    if step % 8 == 0:
        print(step, loss.item())
