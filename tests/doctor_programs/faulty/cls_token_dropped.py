# expect: param-unused line 11, 19
# The class token is never concatenated.

import clew as torch
from clew import nn


class TinyViT(nn.Module):
    def __init__(self, dim=16, patches=9):
        super().__init__()
        self.cls = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos = nn.Parameter(torch.randn(1, patches, dim) * 0.02)
        self.embed = nn.Linear(4, dim)
        layer = nn.TransformerEncoderLayer(dim, 2, 32, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1)
        self.head = nn.Linear(dim, 3)

    def forward(self, x):
        tok = self.embed(x) + self.pos
        return self.head(self.encoder(tok)[:, 0])


torch.manual_seed(0)
vit = TinyViT()
opt = torch.optim.AdamW(vit.parameters(), lr=1e-3)
for step in range(15):
    x = torch.randn(8, 9, 4)
    y = x[:, 0].argmax(-1) % 3
    loss = nn.functional.cross_entropy(vit(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
