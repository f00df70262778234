# expect: scheduler-misuse line 17, 28
# The milestones 6 and 9 count epochs, the scheduler is stepped inside the batch loop.

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Experiment:
    def __init__(self, epochs=10):
        torch.manual_seed(333)
        self.epochs = epochs
        x = torch.randn(250, 5)
        self.loader = DataLoader(TensorDataset(x, x.prod(1, keepdim=True)), batch_size=25)
        self.model = nn.Sequential(nn.Linear(5, 32), nn.Tanh(), nn.Linear(32, 1))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.scheduler = torch.optim.lr_scheduler.MultiStepLR(
            self.optimizer, milestones=[6, 9], gamma=0.01
        )

    def train(self):
        for epoch in range(self.epochs):
            for x, y in self.loader:
                self.optimizer.zero_grad()
                loss = nn.functional.mse_loss(self.model(x), y)
                loss.backward()
                self.optimizer.step()
                self.scheduler.step()
            print(epoch, round(loss.item(), 4), self.scheduler.get_last_lr()[0])


Experiment().train()
