# expect: missing-zero-grad line 28, 29

import argparse
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self, d_in, n_cls):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(d_in, 48), nn.GELU(), nn.LayerNorm(48))
        self.out = nn.Linear(48, n_cls)

    def forward(self, x):
        return self.out(self.body(x))


class Trainer:
    def __init__(self, model, loader, lr):
        self.model = model
        self.loader = loader
        self.opt = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
        self.crit = nn.CrossEntropyLoss()

    def train_step(self, xb, yb):
        loss = self.crit(self.model(xb), yb)
        loss.backward()
        self.opt.step()
        return loss.item()

    def fit(self, epochs):
        for e in range(epochs):
            tot = 0.0
            for xb, yb in self.loader:
                tot += self.train_step(xb, yb)
            print(f"epoch {e}: {tot / len(self.loader):.4f}")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=5)
    ap.add_argument("--lr", type=float, default=0.01)
    args = ap.parse_args()
    torch.manual_seed(0)
    X = torch.randn(320, 12)
    y = X[:, :3].argmax(1)
    Trainer(Net(12, 3), DataLoader(TensorDataset(X, y), 32, shuffle=True), args.lr).fit(args.epochs)


if __name__ == "__main__":
    main()
