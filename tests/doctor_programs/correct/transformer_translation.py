# expect: nothing
# nn.Transformer with causal target mask and padding masks, label smoothing and clipping.

import torch
from torch import nn


class Translator(nn.Module):
    def __init__(self, vocab=12, dim=16, length=8):
        super().__init__()
        self.embed, self.position = (
            nn.Embedding(vocab, dim, padding_idx=0),
            nn.Embedding(length, dim),
        )
        self.core = nn.Transformer(dim, 2, 1, 1, 32, dropout=0.0, batch_first=True)
        self.out = nn.Linear(dim, vocab)

    def forward(self, source, target):
        causal = torch.triu(
            torch.ones(target.size(1), target.size(1), dtype=torch.bool), diagonal=1
        )
        s = self.embed(source) + self.position(torch.arange(source.size(1)))
        t = self.embed(target) + self.position(torch.arange(target.size(1)))
        h = self.core(
            s,
            t,
            tgt_mask=causal,
            src_key_padding_mask=source == 0,
            memory_key_padding_mask=source == 0,
        )
        return self.out(h)


torch.manual_seed(720)
model = Translator()
criterion = nn.CrossEntropyLoss(ignore_index=0, label_smoothing=0.05)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
losses = []
for _ in range(40):
    lengths = torch.randint(3, 7, (24, 1))
    source = torch.randint(2, 12, (24, 6)) * (torch.arange(6) < lengths)
    target_in = torch.cat([torch.ones(24, 1, dtype=torch.long), source[:, :-1]], dim=1)
    logits = model(source, target_in)
    loss = criterion(logits.reshape(-1, 12), source.reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
