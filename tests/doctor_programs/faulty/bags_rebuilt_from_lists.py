# expect: detached-graph line 19
# The pooled bags are rebuilt from Python lists; the instance encoder gets no gradient.

import torch
from torch import nn

torch.manual_seed(309)
instance_encoder = nn.Sequential(nn.Linear(4, 16), nn.ReLU())
bag_classifier = nn.Linear(16, 2)
optimizer = torch.optim.Adam(
    list(instance_encoder.parameters()) + list(bag_classifier.parameters()), lr=1e-2
)
bags = [torch.randn(torch.randint(2, 6, ()).item(), 4) for _ in range(40)]
labels = torch.tensor([int(bag[:, 0].max() > 1.0) for bag in bags])


def pool(bags):
    pooled = [instance_encoder(bag).max(dim=0).values for bag in bags]
    return torch.tensor([vector.tolist() for vector in pooled])


for epoch in range(8):
    logits = bag_classifier(pool(bags))
    loss = nn.functional.cross_entropy(logits, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 2 == 0:
        print("epoch", epoch, "loss", loss.item())
