# expect: nothing
# Input embedding and output projection share one weight.

import torch
from torch import nn


class TiedLM(nn.Module):
    def __init__(self, vocab=14, dim=24):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, vocab, bias=False)
        self.out.weight = self.embed.weight

    def forward(self, tokens):
        h, _ = self.rnn(self.embed(tokens))
        return self.out(h)


torch.manual_seed(211)
model = TiedLM()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
losses = []
for _ in range(40):
    start = torch.randint(0, 14, (16, 1))
    tokens = (start + 3 * torch.arange(9)).remainder(14)
    logits = model(tokens[:, :-1])
    loss = nn.functional.cross_entropy(logits.reshape(-1, 14), tokens[:, 1:].reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"tied language model {losses[0]:.3f} {losses[-1]:.3f}")
