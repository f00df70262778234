# expect: nothing
# Messages are added to nodes along edges: rows of the node matrix mix by design.

import torch
import torch.nn.functional as F
from torch import nn


class MessagePassing(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.message, self.update = nn.Linear(2 * dim, dim), nn.GRUCell(dim, dim)

    def forward(self, h, source, target):
        m = F.relu(self.message(torch.cat([h[source], h[target]], dim=1)))
        return self.update(torch.zeros_like(h).index_add(0, target, m), h)


torch.manual_seed(524)
n = 30
source = torch.randint(0, n, (120,))
target = torch.randint(0, n, (120,))
features = torch.randn(n, 8)
label = (features[:, 0] > 0).long()
layer, head = MessagePassing(), nn.Linear(8, 2)
optimizer = torch.optim.Adam([*layer.parameters(), *head.parameters()], lr=1e-2)
losses = []
for _ in range(50):
    h = features
    for _ in range(2):
        h = layer(h, source, target)
    loss = F.cross_entropy(head(h), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
