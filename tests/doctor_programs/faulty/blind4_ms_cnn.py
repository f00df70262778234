# expect: missing-step line 26, 36

import clew as torch
import clew.nn as nn
import clew.nn.functional as F


class CNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(1, 8, 3, padding=1)
        self.c2 = nn.Conv2d(8, 16, 3, padding=1)
        self.fc = nn.Linear(16 * 4, 2)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.c1(x)), 2)
        x = F.max_pool2d(F.relu(self.c2(x)), 2)
        return self.fc(x.flatten(1))


def train_epoch(model, opt, x, y):
    total = 0
    for i in range(0, len(x), 16):
        opt.zero_grad()
        loss = F.cross_entropy(model(x[i : i + 16]), y[i : i + 16])
        loss.backward()
        total += loss.item()
    return total / (len(x) / 16)


if __name__ == "__main__":
    torch.manual_seed(0)
    x = torch.randn(96, 1, 8, 8)
    y = (x[:, 0, :4].mean((1, 2)) > 0).long()
    m = CNN()
    opt = torch.optim.SGD(m.parameters(), lr=0.05)
    for e in range(4):
        print(e, train_epoch(m, opt, x, y))
