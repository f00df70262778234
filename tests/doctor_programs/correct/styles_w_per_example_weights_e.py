# expect: nothing
import numpy as np
import torch
import torch.nn as nn

rng = np.random.RandomState(2)
features = rng.randn(500, 8).astype("float32")
target = (features[:, 0] - 0.5 * features[:, 3] + 0.1 * rng.randn(500)).astype("float32")
weight = rng.uniform(0.5, 1.5, 500).astype("float32")
perm = rng.permutation(500)
fit, hold = perm[:400], perm[400:]


def batches(index, size=40):
    index = index.copy()
    rng.shuffle(index)
    for s in range(0, len(index), size):
        j = index[s : s + size]
        yield torch.from_numpy(features[j]), torch.from_numpy(target[j]), torch.from_numpy(weight[j])


def weighted(pred, y, w):
    per = nn.functional.mse_loss(pred, y, reduction="none")
    return (per * w).sum() / w.sum()


torch.manual_seed(2)
net = nn.Sequential(nn.Linear(8, 16), nn.Hardtanh(), nn.Linear(16, 1), nn.Flatten(0))
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for epoch in range(5):
    opt.zero_grad()
    for x, y, w in batches(fit):
        opt.zero_grad()
        loss = weighted(net(x), y, w)
        loss.backward()
        opt.step()
    with torch.no_grad():
        x, y, w = torch.from_numpy(features[hold]), torch.from_numpy(target[hold]), torch.from_numpy(weight[hold])
        print(epoch, round(((net(x).flatten() - y) ** 2).mean().item(), 4))
