# expect: detached-graph line 19
# The encoder's final state is detached before decoding, the encoder never gets a gradient.

import torch
from torch import nn


class Seq2Seq(nn.Module):
    def __init__(self, vocab=10, hidden=24):
        super().__init__()
        self.embed_src = nn.Embedding(vocab, 12)
        self.embed_tgt = nn.Embedding(vocab, 12)
        self.encoder = nn.GRU(12, hidden, batch_first=True)
        self.decoder = nn.GRU(12, hidden, batch_first=True)
        self.readout = nn.Linear(hidden, vocab)

    def forward(self, source, target_in):
        _, state = self.encoder(self.embed_src(source))
        state = state.detach()
        out, _ = self.decoder(self.embed_tgt(target_in), state)
        return self.readout(out)


torch.manual_seed(38)
model = Seq2Seq()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
loss_fn = nn.CrossEntropyLoss()
for step in range(20):
    source = torch.randint(1, 10, (16, 5))
    target = source.flip(1)
    target_in = torch.cat([torch.zeros(16, 1, dtype=torch.long), target[:, :-1]], dim=1)
    logits = model(source, target_in)
    loss = loss_fn(logits.reshape(-1, 10), target.reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 5 == 0:
        print(step, round(loss.item(), 4))
