# expect: nothing

# Domain adaptation: "source" and "target" are domains; both embeddings are meant to move.
import clew as torch
import clew.nn as nn
import clew.nn.functional as F

torch.manual_seed(0)
enc = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 8))
head = nn.Linear(8, 2)
opt = torch.optim.Adam([*enc.parameters(), *head.parameters()], lr=1e-3)
for i in range(30):
    xs = torch.randn(32, 8)
    y = (xs[:, 0] > 0).long()
    xt = torch.randn(32, 8) + 0.3
    source, target = enc(xs), enc(xt)
    align = F.mse_loss(source.mean(0), target.mean(0))
    loss = F.cross_entropy(head(source), y) + align
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
