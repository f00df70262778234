# expect: nothing
# Linear warm-up per batch: the first rates are tiny on purpose.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(248)
warmup = 15
model = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
embed, head = nn.Embedding(10, 16), nn.Linear(16, 10)
params = [p for m in (model, embed, head) for p in m.parameters()]
optimizer = torch.optim.Adam(params, lr=1e-2)
scheduler = torch.optim.lr_scheduler.LambdaLR(
    optimizer, lambda step: min((step + 1) / warmup, (warmup / (step + 1)) ** 0.5)
)
losses = []
for _ in range(50):
    tokens = torch.randint(0, 10, (16, 6))
    logits = head(model(embed(tokens)))
    loss = F.cross_entropy(logits.transpose(1, 2), (tokens * 3 + 1).remainder(10))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
