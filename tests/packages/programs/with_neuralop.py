"""neuraloperator: Fourier neural operators, also with factorized weights."""

import torch
from neuralop import H1Loss, LpLoss
from neuralop.models import FNO

torch.manual_seed(0)
m = FNO(n_modes=(4, 4), in_channels=1, out_channels=1, hidden_channels=8, n_layers=2)
t = FNO(
    n_modes=(4, 4),
    in_channels=1,
    out_channels=1,
    hidden_channels=8,
    n_layers=2,
    factorization="tucker",
    implementation="factorized",
    rank=0.5,
)
x = torch.randn(2, 1, 16, 16)
y = torch.randn(2, 1, 16, 16)
for n in (m, t):
    opt = torch.optim.Adam(n.parameters(), 1e-3)
    for i in range(3):
        opt.zero_grad()
        loss = LpLoss(d=2)(n(x), y) + H1Loss(d=2)(n(x), y)
        loss.backward()
        opt.step()
        print(f"{loss.item():.5f}")
