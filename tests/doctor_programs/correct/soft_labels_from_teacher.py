# expect: nothing
# cross_entropy with a softmax as its *target*: soft labels are probabilities.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(518)
teacher = nn.Linear(6, 4)
student = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 4))
optimizer = torch.optim.Adam(student.parameters(), lr=1e-2)
x = torch.randn(100, 6)
with torch.no_grad():
    soft = F.softmax(3.0 * teacher(x), dim=1)
losses = []
for _ in range(40):
    loss = F.cross_entropy(student(x), soft)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
