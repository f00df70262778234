# expect: train-eval-mode line 41
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset, random_split


class Callback:
    def on_train_begin(self, trainer): pass
    def on_backward_end(self, trainer): pass
    def on_step_end(self, trainer): pass
    def on_epoch_begin(self, trainer): pass
    def on_epoch_end(self, trainer): pass


class History(Callback):
    def __init__(self):
        self.batches, self.epochs = [], []

    def on_step_end(self, trainer):
        self.batches.append(trainer.loss.item())

    def on_epoch_end(self, trainer):
        tail = self.batches[-8:]
        self.epochs.append(sum(tail) / len(tail))


class GradNorm(Callback):
    def __init__(self):
        self.norms = []

    def on_backward_end(self, trainer):
        self.norms.append(sum(float(p.grad.norm()) for p in trainer.model.parameters()))


class Validate(Callback):
    def __init__(self, loader):
        self.loader = loader

    def on_epoch_end(self, trainer):
        trainer.model.eval()
        hits = total = 0
        with torch.no_grad():
            for xb, yb in self.loader:
                hits += (trainer.model(xb).argmax(1) == yb).sum().item()
                total += len(yb)
        trainer.metrics["acc"] = hits / total


class LrSchedule(Callback):
    def __init__(self, make):
        self.make = make

    def on_train_begin(self, trainer):
        self.scheduler = self.make(trainer.optimizer)

    def on_epoch_end(self, trainer):
        self.scheduler.step()


class Trainer:
    def __init__(self, model, optimizer, callbacks):
        self.model, self.optimizer, self.callbacks = model, optimizer, callbacks
        self.metrics = {}

    def fire(self, name):
        for callback in self.callbacks:
            getattr(callback, name)(self)

    def fit(self, loader, epochs):
        self.model.train()
        self.fire("on_train_begin")
        for self.epoch in range(epochs):
            self.fire("on_epoch_begin")
            for xb, yb in loader:
                self.optimizer.zero_grad()
                self.loss = F.cross_entropy(self.model(xb), yb)
                self.loss.backward()
                self.fire("on_backward_end")
                self.optimizer.step()
                self.fire("on_step_end")
            self.fire("on_epoch_end")


torch.manual_seed(3)
centers = torch.randn(4, 10) * 2
labels = torch.randint(0, 4, (256,))
points = centers[labels] + torch.randn(256, 10)
train_set, valid_set = random_split(TensorDataset(points, labels), [192, 64])
net = nn.Sequential(nn.Linear(10, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 4))
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
history = History()
trainer = Trainer(net, opt, [
    history,
    GradNorm(),
    Validate(DataLoader(valid_set, batch_size=64)),
    LrSchedule(lambda o: torch.optim.lr_scheduler.StepLR(o, step_size=3, gamma=0.1)),
])
trainer.fit(DataLoader(train_set, batch_size=16, shuffle=True), epochs=6)
print(history.epochs[-1], trainer.metrics)
