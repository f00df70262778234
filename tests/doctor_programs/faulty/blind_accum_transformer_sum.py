# expect: accumulation-not-averaged line 17, 18, 20
# A step every four micro-batches, each loss at full weight.

import torch
from torch import nn

ACCUM = 4
torch.manual_seed(2)
enc = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True), 1)
emb, head = nn.Embedding(12, 16), nn.Linear(16, 12)
params = [p for m in (emb, enc, head) for p in m.parameters()]
opt = torch.optim.AdamW(params, lr=1e-3)
opt.zero_grad()
for step in range(24):
    tokens = torch.randint(0, 12, (4, 7))
    logits = head(enc(emb(tokens)))
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens.flip(1).flatten())
    loss.backward()
    if (step + 1) % ACCUM == 0:
        opt.step()
        opt.zero_grad()
print(loss.item())
