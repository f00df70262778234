# expect: bad-learning-rate line 22
# Adam with lr=1 throws every weight of the transformer around by one each step.

import torch
from torch import nn

torch.manual_seed(112)


class Model(nn.Module):
    def __init__(self, vocab=12, dim=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.layer = nn.TransformerEncoderLayer(dim, 2, 32, dropout=0.0, batch_first=True)
        self.out = nn.Linear(dim, vocab)

    def forward(self, idx):
        return self.out(self.layer(self.embed(idx)))


model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=1.0)
for step in range(20):
    idx = torch.randint(0, 12, (16, 7))
    logits = model(idx)
    loss = nn.functional.cross_entropy(logits.transpose(1, 2), (idx + 1).remainder(12))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 5 == 0:
        print(step, loss.item())
