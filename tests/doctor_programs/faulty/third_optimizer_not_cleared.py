# expect: missing-zero-grad line 20, 23, 25
# The list that is cleared lacks the embedding's optimizer.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(301)
embedding = nn.Embedding(20, 8)
encoder = nn.GRU(8, 16, batch_first=True)
head = nn.Linear(16, 2)
opt_embedding = torch.optim.SGD(embedding.parameters(), lr=0.1)
opt_encoder = torch.optim.Adam(encoder.parameters(), lr=3e-3)
opt_head = torch.optim.Adam(head.parameters(), lr=3e-3)

tokens = torch.randint(0, 20, (60, 6))
labels = (tokens.sum(1) > 57).long()
for step in range(20):
    for optimizer in (opt_encoder, opt_head):
        optimizer.zero_grad()
    _, h = encoder(embedding(tokens))
    loss = F.cross_entropy(head(h[-1]), labels)
    loss.backward()
    for optimizer in (opt_embedding, opt_encoder, opt_head):
        optimizer.step()
    if step % 5 == 0:
        print(step, loss.item())
