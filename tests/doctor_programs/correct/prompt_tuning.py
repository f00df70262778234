# expect: nothing
# Only a soft prompt is trained, the model around it is frozen.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(434)
embed = nn.Embedding(12, 16)
block = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
head = nn.Linear(16, 2)
for module in (embed, block, head):
    module.requires_grad_(False)
prompt = nn.Parameter(0.5 * torch.randn(1, 4, 16))
optimizer = torch.optim.Adam([prompt], lr=5e-2)
tokens = torch.randint(0, 12, (64, 5))
labels = (tokens[:, 0] > 5).long()
losses = []
for _ in range(60):
    h = torch.cat([prompt.expand(64, -1, -1), embed(tokens)], dim=1)
    loss = F.cross_entropy(head(block(h).mean(dim=1)), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
