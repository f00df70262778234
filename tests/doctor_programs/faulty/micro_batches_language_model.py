# expect: accumulation-not-averaged line 19, 36, 37, 38
# Six micro-batches of the language model are summed at full weight before each step.

import torch
import torch.nn.functional as F
from torch import nn


class Tiny(nn.Module):
    def __init__(self, vocab=13, dim=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.block = nn.TransformerEncoderLayer(dim, 2, 32, dropout=0.0, batch_first=True)
        self.head = nn.Linear(dim, vocab)

    def forward(self, idx, target):
        mask = nn.Transformer.generate_square_subsequent_mask(idx.size(1))
        logits = self.head(self.block(self.embed(idx), src_mask=mask))
        return F.cross_entropy(logits.view(-1, 13), target.reshape(-1))


def get_batch(n=4, length=8):
    start = torch.randint(0, 13, (n, 1))
    seq = (start + 4 * torch.arange(length + 1)).remainder(13)
    return seq[:, :-1], seq[:, 1:]


torch.manual_seed(306)
model = Tiny()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
grad_accum = 6
for it in range(8):
    optimizer.zero_grad(set_to_none=True)
    for _ in range(grad_accum):
        idx, target = get_batch()
        loss = model(idx, target)
        loss.backward()
    optimizer.step()
    print(f"iter {it} loss {loss.item():.4f}")
