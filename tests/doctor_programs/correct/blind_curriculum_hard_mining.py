# expect: nothing
# Hard example mining: losses of all training rows without gradients, the hardest are trained on.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
X = torch.randn(128, 6)
Y = X[:, :4].argmax(1)
net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 4))
opt = torch.optim.Adam(net.parameters(), 5e-3)
for ep in range(15):
    with torch.no_grad():
        per = F.cross_entropy(net(X), Y, reduction="none")
    hard = per.topk(32).indices
    opt.zero_grad()
    F.cross_entropy(net(X[hard]), Y[hard]).backward()
    opt.step()
