# expect: detached-graph line 16, 17
# The passage encoder of the retriever runs under no_grad although both towers are to be trained.

import torch
import torch.nn.functional as F
from torch import nn


class DualEncoder(nn.Module):
    def __init__(self, dim=10, out=8):
        super().__init__()
        self.question = nn.Sequential(nn.Linear(dim, 24), nn.Tanh(), nn.Linear(24, out))
        self.passage = nn.Sequential(nn.Linear(dim, 24), nn.Tanh(), nn.Linear(24, out))

    def encode_passages(self, passages):
        with torch.no_grad():
            return self.passage(passages)

    def forward(self, questions, passages):
        return self.question(questions) @ self.encode_passages(passages).t()


torch.manual_seed(307)
latent = torch.randn(64, 6)
questions, passages = latent @ torch.randn(6, 10), latent @ torch.randn(6, 10)
model = DualEncoder()
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
for step in range(20):
    pick = torch.randperm(64)[:32]
    scores = model(questions[pick], passages[pick])
    loss = F.cross_entropy(scores, torch.arange(32))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 5 == 0:
        print(step, loss.item())
