# expect: nothing
# Only the last block and the head of a pretrained encoder are trained.

import clew as torch
from clew import nn


class Encoder(nn.Module):
    def __init__(self, d=12):
        super().__init__()
        self.emb = nn.Linear(5, d)
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(d, d), nn.GELU()) for _ in range(3))

    def forward(self, x):
        x = self.emb(x)
        for b in self.blocks:
            x = x + b(x)
        return x


torch.manual_seed(0)
enc, head = Encoder(), nn.Linear(12, 3)
for name, p in enc.named_parameters():
    p.requires_grad = name.startswith("blocks.2")
trainable = [p for p in [*enc.parameters(), *head.parameters()] if p.requires_grad]
opt = torch.optim.Adam(trainable, lr=1e-3)
for i in range(20):
    x = torch.randn(16, 5)
    loss = nn.functional.cross_entropy(head(enc(x)), x[:, :3].argmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
