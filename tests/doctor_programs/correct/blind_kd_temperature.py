# expect: nothing
# Distillation: soft targets under no_grad, KL of log-probabilities, and the hard loss.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
x = torch.randn(90, 5)
y = (x[:, :3] + 0.1).argmax(1)
T = nn.Sequential(nn.Linear(5, 40), nn.ReLU(), nn.Dropout(0.2), nn.Linear(40, 3))
S = nn.Linear(5, 3)
ot = torch.optim.Adam(T.parameters(), 1e-2)
os_ = torch.optim.SGD(S.parameters(), 0.1)
T.train()
for _ in range(20):
    ot.zero_grad()
    F.cross_entropy(T(x), y).backward()
    ot.step()
T.eval()
for _ in range(20):
    with torch.no_grad():
        soft = F.log_softmax(T(x) / 3, -1)
    s = S(x)
    l = 0.7 * 9 * F.kl_div(
        F.log_softmax(s / 3, -1), soft, reduction="batchmean", log_target=True
    ) + 0.3 * F.cross_entropy(s, y)
    os_.zero_grad()
    l.backward()
    os_.step()
print(l.item())
