# expect: nothing
# The running centre is updated in place under no_grad after backward, as in DINO.

import torch
import torch.nn.functional as F
from torch import nn


class CenteredLoss(nn.Module):
    def __init__(self, dim, momentum=0.9):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("center", torch.zeros(1, dim))

    def forward(self, student, teacher):
        target = F.softmax((teacher - self.center).detach() / 0.1, dim=1)
        return -(target * F.log_softmax(student, dim=1)).sum(dim=1).mean()

    @torch.no_grad()
    def update(self, teacher):
        batch = teacher.mean(dim=0, keepdim=True)
        self.center.mul_(self.momentum).add_(batch, alpha=1 - self.momentum)


torch.manual_seed(260)
student = nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 6))
teacher = nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 6)).requires_grad_(False)
criterion = CenteredLoss(6)
optimizer = torch.optim.AdamW(student.parameters(), lr=5e-3)
losses = []
for _ in range(60):
    x = torch.randn(48, 8)
    goal = teacher(x + 0.05 * torch.randn_like(x))
    loss = criterion(student(x), goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    criterion.update(goal)
    losses.append(loss.item())
print(losses[0], losses[-1])
