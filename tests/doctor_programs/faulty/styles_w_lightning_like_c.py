# expect: scheduler-misuse line 31, 47
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


class Module(nn.Module):
    def training_step(self, batch): raise NotImplementedError
    def validation_step(self, batch): raise NotImplementedError
    def configure_optimizers(self): raise NotImplementedError


class Churn(Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(10, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 1))
        self.loss = nn.BCEWithLogitsLoss()

    def shared(self, batch):
        x, y = batch
        return self.loss(self.net(x).squeeze(-1), y)

    def training_step(self, batch):
        return self.shared(batch)

    def validation_step(self, batch):
        return self.shared(batch).item()

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=3e-3)
        return opt, torch.optim.lr_scheduler.StepLR(opt, step_size=2, gamma=0.5)


class Trainer:
    def __init__(self, epochs):
        self.epochs = epochs

    def fit(self, module, train, val):
        opt, sched = module.configure_optimizers()
        for epoch in range(self.epochs):
            module.train()
            for batch in train:
                loss = module.training_step(batch)
                opt.zero_grad()
                loss.backward()
                opt.step()
                sched.step()
            module.eval()
            with torch.no_grad():
                scores = [module.validation_step(b) for b in val]
            print(f"epoch {epoch} val {sum(scores) / len(scores):.4f}")


torch.manual_seed(51)
x = torch.randn(420, 10)
y = ((x[:, 0] + x[:, 1] * x[:, 2]) > 0).float()
train, val = random_split(TensorDataset(x, y), [340, 80])
Trainer(6).fit(Churn(), DataLoader(train, 34, shuffle=True), DataLoader(val, 40))
