# expect: nothing

# two towers, margin plus squared distance of matched pairs, both towers trained.
import clew as torch
import clew.nn as nn
import clew.nn.functional as F

torch.manual_seed(0)
a, b = nn.Linear(6, 8), nn.Linear(5, 8)
opt = torch.optim.Adam([*a.parameters(), *b.parameters()], lr=5e-3)
W = torch.randn(6, 5)
for i in range(40):
    x = torch.randn(32, 6)
    z = x @ W
    query = F.normalize(a(x), dim=1)
    target = F.normalize(b(z), dim=1)
    loss = F.cross_entropy(query @ target.t() / 0.1, torch.arange(32)) + 0.1 * F.mse_loss(
        query, target
    )
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
