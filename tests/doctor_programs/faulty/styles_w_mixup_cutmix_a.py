# expect: wrong-reduction line 73
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

rng = np.random.default_rng(0)
torch.manual_seed(0)


class Shapes(Dataset):
    def __init__(self, n):
        self.y = rng.integers(0, 3, n)
        self.x = rng.normal(0, 0.3, (n, 1, 10, 10)).astype(np.float32)
        for x, y in zip(self.x, self.y):
            if y == 0:
                x[0, 4:6] += 1
            elif y == 1:
                x[0, :, 4:6] += 1
            else:
                x[0] += np.eye(10, dtype=np.float32)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(1, 8, 3)
        self.c2 = nn.Conv2d(8, 8, 3)
        self.fc = nn.Linear(8 * 36, 3)

    def forward(self, x):
        x = F.relu(self.c2(F.relu(self.c1(x))))
        x = self.fc(x.flatten(1))
        return x


def mixup(x, y, alpha=0.4):
    lam = rng.beta(alpha, alpha)
    perm = torch.randperm(len(x))
    return lam * x + (1 - lam) * x[perm], y, y[perm], lam


def cutmix(x, y):
    perm = torch.randperm(len(x))
    a, b = rng.integers(0, 6, 2)
    x = x.clone()
    x[:, :, a : a + 4, b : b + 4] = x[perm, :, a : a + 4, b : b + 4]
    return x, y, y[perm], 1 - 16 / 100


def smooth_ce(logits, y, eps=0.1):
    logp = F.log_softmax(logits, 1)
    nll = -logp.gather(1, y[:, None]).squeeze(1)
    return ((1 - eps) * nll - eps * logp.mean(1)).mean()


loader = DataLoader(Shapes(160), batch_size=32, shuffle=True)
net = Net()
EPOCHS = 5
opt = torch.optim.SGD(net.parameters(), lr=0.03, momentum=0.9, nesterov=True)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=EPOCHS)
for epoch in range(EPOCHS):
    for x, y in loader:
        x, ya, yb, lam = mixup(x, y) if rng.random() < 0.5 else cutmix(x, y)
        logits = net(x)
        loss = lam * smooth_ce(logits, ya) + (1 - lam) * F.cross_entropy(logits, yb, reduction="sum")
        opt.zero_grad()
        loss.backward()
        opt.step()
    sched.step()
    print(epoch, loss.item(), sched.get_last_lr()[0])
