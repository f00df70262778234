# expect: nan-origin line 16, 17
# log(0) = -inf is multiplied by a zero mask, which gives NaN and not zero.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(612)
policy = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 5))
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)


def masked_entropy(logits, legal):
    probs = F.softmax(logits, dim=1) * legal
    probs = probs / probs.sum(dim=1, keepdim=True)
    log_probs = torch.log(probs)
    return -(probs * log_probs).sum(dim=1).mean()


for step in range(6):
    obs = torch.randn(32, 4)
    legal = torch.ones(32, 5)
    if step >= 3:
        legal[:, 4] = 0.0
    logits = policy(obs)
    loss = F.cross_entropy(logits, obs.argmax(1)) - 0.01 * masked_entropy(logits, legal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
