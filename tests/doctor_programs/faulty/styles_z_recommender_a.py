# expect: bad-init line 28
import argparse
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, random_split


class Ratings(Dataset):
    def __init__(self, users=40, items=60, n=1200):
        p, q = torch.randn(users, 4), torch.randn(items, 4)
        self.u = torch.randint(0, users, (n,))
        self.i = torch.randint(0, items, (n,))
        self.r = (p[self.u] * q[self.i]).sum(1) + 0.1 * torch.randn(n)

    def __len__(self):
        return len(self.r)

    def __getitem__(self, k):
        return self.u[k], self.i[k], self.r[k]


class Factorization(nn.Module):
    def __init__(self, users, items, k):
        super().__init__()
        self.user, self.item = nn.Embedding(users, k), nn.Embedding(items, k)
        self.user_bias, self.item_bias = nn.Embedding(users, 1), nn.Embedding(items, 1)
        for e in (self.user, self.item):
            nn.init.zeros_(e.weight)
        for e in (self.user_bias, self.item_bias):
            nn.init.zeros_(e.weight)

    def forward(self, u, i):
        dot = (self.user(u) * self.item(i)).sum(1)
        return dot + self.user_bias(u).squeeze(1) + self.item_bias(i).squeeze(1)


def run_epoch(model, loader, criterion, optimizer=None):
    training = optimizer is not None
    model.train(training)
    total = 0.0
    with torch.set_grad_enabled(training):
        for u, i, r in loader:
            loss = criterion(model(u, i), r)
            if training:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            total += loss.item() * len(r)
    return total / len(loader.dataset)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=1e-2)
    parser.add_argument("--epochs", type=int, default=4)
    args = parser.parse_args()
    torch.manual_seed(25)
    data = Ratings()
    train, test = random_split(data, [1000, 200])
    train_loader = DataLoader(train, batch_size=100, shuffle=True)
    test_loader = DataLoader(test, batch_size=200)
    model = Factorization(40, 60, 6)
    criterion = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, weight_decay=1e-5)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)
    for epoch in range(args.epochs):
        a = run_epoch(model, train_loader, criterion, optimizer)
        b = run_epoch(model, test_loader, criterion)
        scheduler.step(b)
        print(epoch, round(a, 3), round(b, 3))


if __name__ == "__main__":
    main()
