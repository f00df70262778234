# expect: nothing

import clew as torch
import clew.nn as nn
import clew.nn.functional as F


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(16, 32)
        self.fc21 = nn.Linear(32, 4)
        self.fc22 = nn.Linear(32, 4)
        self.fc3 = nn.Linear(4, 32)
        self.fc4 = nn.Linear(32, 16)

    def encode(self, x):
        h = F.relu(self.fc1(x))
        return self.fc21(h), self.fc22(h)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return mu + torch.randn_like(std) * std

    def decode(self, z):
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z))))

    def forward(self, x):
        mu, lv = self.encode(x)
        return self.decode(self.reparameterize(mu, lv)), mu, lv


def loss_function(r, x, mu, lv):
    BCE = F.binary_cross_entropy(r, x, reduction="sum")
    KLD = -0.5 * torch.sum(1 + lv - mu.pow(2) - lv.exp())
    return BCE + KLD


torch.manual_seed(1)
m = VAE()
opt = torch.optim.Adam(m.parameters(), lr=1e-3)
W = torch.randn(4, 16)
for ep in range(3):
    m.train()
    tot = 0
    for _ in range(15):
        x = torch.sigmoid(torch.randn(32, 4) @ W)
        opt.zero_grad()
        r, mu, lv = m(x)
        loss = loss_function(r, x, mu, lv)
        loss.backward()
        tot += loss.item()
        opt.step()
    print(tot / 15 / 32)
