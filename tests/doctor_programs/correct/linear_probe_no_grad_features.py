# expect: nothing
# Features are extracted without gradients by design; only the probe has an optimizer.

import clew as torch
from clew import nn

torch.manual_seed(0)
backbone = nn.Sequential(nn.Linear(6, 32), nn.BatchNorm1d(32), nn.ReLU())
backbone.eval()
probe = nn.Linear(32, 2)
opt = torch.optim.LBFGS(probe.parameters(), max_iter=10)
x = torch.randn(100, 6)
y = (x[:, 0] > 0).long()
with torch.no_grad():
    feats = backbone(x)


def closure():
    opt.zero_grad()
    loss = nn.functional.cross_entropy(probe(feats), y) + 1e-3 * probe.weight.pow(2).sum()
    loss.backward()
    return loss


for _ in range(4):
    loss = opt.step(closure)
print(loss.item())
