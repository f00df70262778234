# expect: missing-zero-grad line 36, 37
# The Trainer class clears gradients only when the flag of the config says so, and it does not.

from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import nn


@dataclass
class Config:
    hidden: int = 16
    lr: float = 0.01
    epochs: int = 6
    callbacks: list = field(default_factory=list)
    reset: bool = False


class Trainer:
    def __init__(self, net, cfg):
        self.net, self.cfg = net, cfg
        self.opt = torch.optim.SGD(net.parameters(), lr=cfg.lr)

    def training_step(self, batch):
        x, y = batch
        return F.cross_entropy(self.net(x), y)

    def fit(self, loader):
        for epoch in range(self.cfg.epochs):
            total = 0.0
            for batch in loader:
                if self.cfg.reset:
                    self.opt.zero_grad()
                loss = self.training_step(batch)
                loss.backward()
                self.opt.step()
                total += loss.item()
            for cb in self.cfg.callbacks:
                cb(epoch, total / len(loader))


torch.manual_seed(0)
x = torch.randn(96, 6)
y = (x[:, 0] + x[:, 1] > 0).long()
loader = torch.utils.data.DataLoader(
    torch.utils.data.TensorDataset(x, y), batch_size=16, shuffle=True
)
net = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 2))
Trainer(net, Config(callbacks=[lambda e, v: print(e, f"{v:.3f}")])).fit(loader)
