# expect: nothing
# CLIP with a learned temperature: softmax over both axes of the logits matrix.

import torch
from torch import nn


class CLIP(nn.Module):
    def __init__(self):
        super().__init__()
        self.image, self.text = nn.Linear(10, 6), nn.Linear(7, 6)
        self.logit_scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, a, b):
        a = nn.functional.normalize(self.image(a), dim=-1)
        b = nn.functional.normalize(self.text(b), dim=-1)
        return self.logit_scale.exp() * a @ b.t()


torch.manual_seed(0)
model = CLIP()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
base = torch.randn(16, 4)
A, B = base @ torch.randn(4, 10), base @ torch.randn(4, 7)
for _ in range(30):
    logits = model(A, B)
    y = torch.arange(16)
    loss = (nn.functional.cross_entropy(logits, y) + nn.functional.cross_entropy(logits.t(), y)) / 2
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
