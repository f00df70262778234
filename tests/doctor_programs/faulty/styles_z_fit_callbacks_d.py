# expect: data-leak line 71
import copy
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Callback:
    def on_epoch_begin(self, learner): pass
    def on_batch_end(self, learner): pass
    def on_epoch_end(self, learner, logs): pass


class History(Callback):
    def __init__(self):
        self.losses = []

    def on_batch_end(self, learner):
        self.losses.append(learner.loss.item())


class Checkpoint(Callback):
    def __init__(self):
        self.best, self.state = float("inf"), None

    def on_epoch_end(self, learner, logs):
        if logs["val"] < self.best:
            self.best = logs["val"]
            self.state = copy.deepcopy(learner.net.state_dict())


class Learner:
    def __init__(self, net, train, valid, criterion, lr, callbacks):
        self.net, self.train_dl, self.valid_dl = net, train, valid
        self.criterion, self.callbacks = criterion, callbacks
        self.opt = torch.optim.AdamW(net.parameters(), lr=lr)

    def call(self, name, *args):
        for c in self.callbacks:
            getattr(c, name)(self, *args)

    def one_batch(self, xb, yb):
        self.opt.zero_grad()
        self.loss = self.criterion(self.net(xb), yb)
        self.loss.backward()
        self.opt.step()
        self.call("on_batch_end")

    def validate(self):
        self.net.eval()
        total = 0.0
        with torch.no_grad():
            for xb, yb in self.valid_dl:
                total += self.criterion(self.net(xb), yb).item()
        return total / len(self.valid_dl)

    def fit(self, epochs):
        for epoch in range(epochs):
            self.call("on_epoch_begin")
            self.net.train()
            for xb, yb in self.train_dl:
                self.one_batch(xb, yb)
            self.call("on_epoch_end", {"val": self.validate()})


x = torch.randn(240, 10)
y = (x[:, 0] * x[:, 1] > 0).long()
train = DataLoader(TensorDataset(x[:192], y[:192]), batch_size=32, shuffle=True)
valid = DataLoader(TensorDataset(x[160:], y[160:]), batch_size=48)
net = nn.Sequential(nn.Linear(10, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 2))
history, keeper = History(), Checkpoint()
learner = Learner(net, train, valid, nn.CrossEntropyLoss(), 3e-3, [history, keeper])
learner.fit(5)
net.load_state_dict(keeper.state)
print(history.losses[-1], keeper.best)
