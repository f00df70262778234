# expect: nothing
# Routing by agreement: the coefficients are found on detached votes, the last pass learns.

import torch
import torch.nn.functional as F
from torch import nn


class Routing(nn.Module):
    def __init__(self, inputs=8, outputs=3, dim=4):
        super().__init__()
        self.weight = nn.Parameter(0.2 * torch.randn(inputs, outputs, 1, dim))
        self.bias = nn.Parameter(torch.zeros(outputs, dim))

    def forward(self, x):
        votes = x.view(x.size(0), 8, 1, 1, 1) * self.weight
        votes = votes.squeeze(3)
        frozen = votes.detach()
        logits = torch.zeros(x.size(0), 8, 3, 1)
        for _ in range(2):
            s = (F.softmax(logits, dim=2) * frozen).sum(dim=1)
            logits = logits + (frozen * s.unsqueeze(1)).sum(-1, keepdim=True)
        return (F.softmax(logits, dim=2) * votes).sum(dim=1) + self.bias


torch.manual_seed(718)
layer, head = Routing(), nn.Linear(12, 3)
optimizer = torch.optim.Adam([*layer.parameters(), *head.parameters()], lr=2e-2)
x = torch.randn(120, 8)
y = x[:, :3].argmax(1)
losses = []
for _ in range(50):
    loss = F.cross_entropy(head(layer(x).flatten(1)), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
