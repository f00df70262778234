# expect: nothing
# RankNet: score differences of all pairs, (N, 1) minus (1, N) by intention.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(509)
scorer = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 1))
optimizer = torch.optim.Adam(scorer.parameters(), lr=5e-3)
losses = []
for _ in range(60):
    documents = torch.randn(20, 6)
    relevance = (documents[:, 0] - 0.5 * documents[:, 1]).unsqueeze(1)
    s = scorer(documents)
    difference = s - s.t()
    better = (relevance > relevance.t()).float()
    loss = (better * F.softplus(-difference)).sum() / better.sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
