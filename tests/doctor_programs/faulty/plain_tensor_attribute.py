# expect: param-not-in-optimizer line 12, 26
# The learnable position table is a plain tensor attribute and not a Parameter.

import torch
from torch import nn


class PositionalClassifier(nn.Module):
    def __init__(self, vocab=14, dim=16, length=6, classes=3):
        super().__init__()
        self.tokens = nn.Embedding(vocab, dim)
        self.positions = torch.zeros(length, dim, requires_grad=True)
        layer = nn.TransformerEncoderLayer(
            dim, 2, dim_feedforward=32, dropout=0.0, batch_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, num_layers=1)
        self.head = nn.Linear(dim, classes)

    def forward(self, idx):
        h = self.tokens(idx) + self.positions
        return self.head(self.encoder(h).mean(dim=1))


torch.manual_seed(53)
model = PositionalClassifier()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
idx = torch.randint(0, 14, (48, 6))
label = (idx * torch.tensor([1, 2, 3, 4, 5, 6])).sum(1).remainder(3)
for epoch in range(12):
    loss = nn.functional.cross_entropy(model(idx), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 4 == 0:
        print(epoch, loss.item())
