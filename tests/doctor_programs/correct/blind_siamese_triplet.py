# expect: nothing
# Siamese encoder with a triplet margin loss; the same module is called three times.

import torch
from torch import nn

torch.manual_seed(0)
e = nn.Sequential(
    nn.Conv1d(1, 4, 3), nn.ReLU(), nn.AdaptiveMaxPool1d(4), nn.Flatten(), nn.Linear(16, 5)
)
opt = torch.optim.RMSprop(e.parameters(), lr=1e-3)
tl = nn.TripletMarginLoss(margin=0.5)
for it in range(20):
    a = torch.randn(16, 1, 12)
    l = tl(e(a), e(a + 0.05 * torch.randn_like(a)), e(torch.randn(16, 1, 12)))
    opt.zero_grad(set_to_none=False)
    l.backward()
    opt.step()
print(l.item())
