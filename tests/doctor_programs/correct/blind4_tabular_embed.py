# expect: nothing

import torch
from torch import nn
from torch.utils.data import Dataset, DataLoader


class Tab(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.cat = torch.randint(0, 6, (n, 2), generator=g)
        self.num = torch.randn(n, 3, generator=g)
        self.y = self.num[:, 0] + 0.5 * self.cat[:, 0].float()

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.cat[i], self.num[i], self.y[i]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embs = nn.ModuleList([nn.Embedding(6, 4) for _ in range(2)])
        self.mlp = nn.Sequential(nn.Linear(11, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, c, x):
        e = [m(c[:, k]) for k, m in enumerate(self.embs)]
        return self.mlp(torch.cat(e + [x], 1)).squeeze(1)


def main():
    torch.manual_seed(0)
    tr, va = DataLoader(Tab(320, 0), 32, shuffle=True), DataLoader(Tab(64, 1), 64)
    net = Net()
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    for ep in range(8):
        net.train()
        for c, x, y in tr:
            loss = nn.functional.mse_loss(net(c, x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            v = sum(nn.functional.mse_loss(net(c, x), y).item() for c, x, y in va)
        print(ep, loss.item(), v)


main()
