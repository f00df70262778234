# expect: nothing

import copy
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
q_enc = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 8))
k_enc = copy.deepcopy(q_enc).requires_grad_(False)
queue = F.normalize(torch.randn(128, 8), dim=1)
ptr = 0
opt = torch.optim.SGD(q_enc.parameters(), lr=0.05, momentum=0.9)
data = torch.randn(200, 8)
for it in range(60):
    x = data[torch.randint(0, 200, (16,))]
    q = F.normalize(q_enc(x + 0.1 * torch.randn_like(x)), dim=1)
    with torch.no_grad():
        for a, b in zip(q_enc.parameters(), k_enc.parameters()):
            b.mul_(0.99).add_(a, alpha=0.01)
        k = F.normalize(k_enc(x + 0.1 * torch.randn_like(x)), dim=1)
    logits = torch.cat([(q * k).sum(1, keepdim=True), q @ queue.clone().t()], 1) / 0.2
    loss = F.cross_entropy(logits, torch.zeros(16, dtype=torch.long))
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        queue[ptr : ptr + 16] = k
        ptr = (ptr + 16) % 128
    if it % 20 == 0:
        print(it, loss.item())
