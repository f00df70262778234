# expect: nothing

import clew as torch
import clew.nn as nn
from clew.utils.data import DataLoader, TensorDataset, random_split


class Trainer:
    def __init__(self, model, tr, va):
        self.model, self.tr, self.va = model, tr, va
        self.opt = torch.optim.Adam(model.parameters(), lr=3e-3)
        self.log = {"train": [], "val": []}

    def fit(self, n):
        for e in range(n):
            self.model.train()
            s = 0.0
            for x, y in self.tr:
                loss = nn.functional.cross_entropy(self.model(x), y)
                loss.backward()
                self.opt.step()
                self.opt.zero_grad()
                s += loss.item()
            self.log["train"].append(s / len(self.tr))
            self.log["val"].append(self.evaluate())
            print(e, self.log["train"][-1], self.log["val"][-1])

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        return sum((self.model(x).argmax(1) == y).sum().item() for x, y in self.va) / len(
            self.va.dataset
        )


torch.manual_seed(0)
X = torch.randn(300, 9)
ds = TensorDataset(X, X[:, :3].argmax(1))
tr, va = random_split(ds, [240, 60])
Trainer(
    nn.Sequential(nn.Linear(9, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 3)),
    DataLoader(tr, 24, shuffle=True),
    DataLoader(va, 30),
).fit(6)
