# expect: scheduler-misuse line 12, 20

import clew as torch
from clew import nn
from clew.utils.data import TensorDataset, DataLoader


class Trainer:
    def __init__(self, model, loader, epochs):
        self.model, self.loader, self.epochs = model, loader, epochs
        self.opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
        self.sched = torch.optim.lr_scheduler.CosineAnnealingLR(self.opt, T_max=epochs)

    def train_epoch(self):
        for x, y in self.loader:
            loss = nn.functional.cross_entropy(self.model(x), y)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            self.sched.step()
        return loss.item()

    def fit(self):
        for e in range(self.epochs):
            print(e, self.train_epoch(), self.opt.param_groups[0]["lr"])


torch.manual_seed(0)
X = torch.randn(256, 8)
ds = TensorDataset(X, (X[:, 0] > X[:, 1]).long())
Trainer(
    nn.Sequential(nn.Linear(8, 24), nn.ReLU(), nn.Linear(24, 2)),
    DataLoader(ds, batch_size=32, shuffle=True),
    8,
).fit()
