# expect: nothing
# Only masked positions count in the loss (ignore_index), the others give no gradient.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(408)
vocab, mask_token = 12, 11
embed, position = nn.Embedding(vocab, 24), nn.Embedding(8, 24)
layer = nn.TransformerEncoderLayer(24, 4, 48, dropout=0.1, batch_first=True, norm_first=True)
encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
head = nn.Linear(24, vocab)
modules = nn.ModuleList([embed, position, encoder, head])
optimizer = torch.optim.AdamW(modules.parameters(), lr=5e-3)
losses = []
for _ in range(50):
    start = torch.randint(0, 11, (32, 1))
    tokens = (start + torch.arange(8)).remainder(11)
    hidden = torch.rand(32, 8) < 0.2
    hidden[:, 3] = True
    labels = tokens.masked_fill(~hidden, -100)
    inputs = tokens.masked_fill(hidden, mask_token)
    logits = head(encoder(embed(inputs) + position(torch.arange(8))))
    loss = F.cross_entropy(logits.transpose(1, 2), labels, ignore_index=-100)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
