# expect: nothing
# Padding is ignored in the loss by a mask, no sequence is empty.

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class Tagger(nn.Module):
    def __init__(self, vocab=12, tags=3):
        super().__init__()
        self.embed = nn.Embedding(vocab, 12, padding_idx=0)
        self.rnn = nn.GRU(12, 24, batch_first=True)
        self.out = nn.Linear(24, tags)

    def forward(self, tokens, lengths):
        packed = pack_padded_sequence(
            self.embed(tokens), lengths, batch_first=True, enforce_sorted=False
        )
        h, _ = pad_packed_sequence(self.rnn(packed)[0], batch_first=True)
        return self.out(h)


torch.manual_seed(264)
model = Tagger()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
losses = []
for _ in range(30):
    lengths = torch.randint(2, 8, (16,))
    lengths[0] = 7
    tokens = torch.randint(1, 12, (16, 7)) * (torch.arange(7) < lengths.unsqueeze(1))
    mask = (tokens != 0).float()
    logits = model(tokens, lengths)
    per_token = F.cross_entropy(logits.transpose(1, 2), tokens.remainder(3), reduction="none")
    loss = (per_token * mask).sum() / mask.sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
