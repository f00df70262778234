# expect: nothing
# Input and output embeddings share one matrix.

import torch
import torch.nn as nn


class TinyGPT(nn.Module):
    def __init__(self, v=25, d=16):
        super().__init__()
        self.tok = nn.Embedding(v, d)
        self.pos = nn.Parameter(torch.zeros(1, 16, d))
        self.block = nn.TransformerEncoderLayer(d, 2, 32, 0.0, batch_first=True, norm_first=True)
        self.norm = nn.LayerNorm(d)
        self.lm = nn.Linear(d, v, bias=False)
        self.lm.weight = self.tok.weight

    def forward(self, t):
        n = t.shape[1]
        mask = torch.triu(torch.full((n, n), float("-inf")), diagonal=1)
        h = self.block(self.tok(t) + self.pos[:, :n], src_mask=mask)
        return self.lm(self.norm(h))


torch.manual_seed(0)
gpt = TinyGPT()
decay = [p for p in gpt.parameters() if p.dim() > 1]
rest = [p for p in gpt.parameters() if p.dim() <= 1]
opt = torch.optim.AdamW(
    [{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}], lr=1e-3
)
for i in range(15):
    t = (torch.arange(10) + torch.randint(0, 25, (8, 1))) % 25
    loss = nn.functional.cross_entropy(gpt(t[:, :-1]).transpose(1, 2), t[:, 1:])
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
print(loss.item())
