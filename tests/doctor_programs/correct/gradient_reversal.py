# expect: nothing
# Domain-adversarial training with a custom Function that negates the gradient.

import torch
import torch.nn.functional as F
from torch import nn


class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return -ctx.strength * grad, None


torch.manual_seed(254)
features = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU())
label_head, domain_head = nn.Linear(16, 2), nn.Linear(16, 2)
params = [p for m in (features, label_head, domain_head) for p in m.parameters()]
optimizer = torch.optim.Adam(params, lr=3e-3)
losses = []
for _ in range(60):
    source, target = torch.randn(32, 6), torch.randn(32, 6) + 0.7
    h = features(torch.cat([source, target]))
    domain = torch.cat([torch.zeros(32), torch.ones(32)]).long()
    label_loss = F.cross_entropy(label_head(h[:32]), (source[:, 0] > 0).long())
    domain_loss = F.cross_entropy(domain_head(Reverse.apply(h, 0.1)), domain)
    loss = label_loss + domain_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(label_loss.item())
print("label loss", losses[0], losses[-1])
