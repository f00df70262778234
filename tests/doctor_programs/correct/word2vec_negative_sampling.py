# expect: nothing
# Skip-gram with negative sampling: only touched rows of the tables get gradients.

import torch
import torch.nn.functional as F
from torch import nn


class SkipGram(nn.Module):
    def __init__(self, vocab=60, dim=12):
        super().__init__()
        self.center, self.context = nn.Embedding(vocab, dim), nn.Embedding(vocab, dim)
        nn.init.uniform_(self.center.weight, -0.5 / dim, 0.5 / dim)
        nn.init.zeros_(self.context.weight)

    def forward(self, center, context, negatives):
        v = self.center(center)
        positive = F.logsigmoid((v * self.context(context)).sum(dim=1))
        negative = F.logsigmoid(-(self.context(negatives) @ v.unsqueeze(2)).squeeze(2)).sum(dim=1)
        return -(positive + negative).mean()


torch.manual_seed(441)
model = SkipGram()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
losses = []
for _ in range(100):
    center = torch.randint(0, 60, (64,))
    context = (center + torch.randint(1, 3, (64,))).remainder(60)
    negatives = torch.randint(0, 60, (64, 4))
    loss = model(center, context, negatives)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
