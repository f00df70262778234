# expect: loss-broadcast line 20
# A regression Trainer with labels of shape (N,).

import warnings

import clew as torch
from clew import nn
from clew.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")


class Trainer:
    def __init__(self, model, loss):
        self.model, self.loss = model, loss
        self.opt = torch.optim.Adam(model.parameters(), lr=1e-3)

    def training_step(self, batch):
        x, y = batch
        return self.loss(self.model(x), y)

    def fit(self, loader, epochs):
        for _ in range(epochs):
            for batch in loader:
                self.opt.zero_grad()
                loss = self.training_step(batch)
                loss.backward()
                self.opt.step()
        return loss.item()


torch.manual_seed(0)
x = torch.randn(128, 5)
data = TensorDataset(x, x[:, 0] - x[:, 1])
trainer = Trainer(nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1)), nn.SmoothL1Loss())
print(trainer.fit(DataLoader(data, batch_size=32), 4))
