# expect: nan-origin line 11
# The last batch has one row, its unbiased standard deviation is NaN.

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Standardise(nn.Module):
    def forward(self, x):
        return (x - x.mean(dim=0)) / (x.std(dim=0) + 1e-5)


class Trainer:
    def __init__(self):
        torch.manual_seed(93)
        x = torch.randn(97, 5) * 3 + 1
        y = (x.sum(1) > 5).long()
        self.loader = DataLoader(TensorDataset(x, y), batch_size=32)
        self.model = nn.Sequential(nn.Linear(5, 16), Standardise(), nn.ReLU(), nn.Linear(16, 2))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def epoch(self):
        losses = []
        for x, y in self.loader:
            self.optimizer.zero_grad()
            loss = nn.functional.cross_entropy(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            losses.append(loss.item())
        return sum(losses) / len(losses)


trainer = Trainer()
for i in range(3):
    print("epoch", i, trainer.epoch())
