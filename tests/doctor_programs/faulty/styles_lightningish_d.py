# expect: train-eval-mode line 55
from dataclasses import dataclass, field
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class LitModule(nn.Module):
    def training_step(self, batch, i): raise NotImplementedError
    def validation_step(self, batch, i): raise NotImplementedError
    def configure_optimizers(self): raise NotImplementedError


class LitClassifier(LitModule):
    def __init__(self, lr=1e-2):
        super().__init__()
        self.lr = lr
        self.net = nn.Sequential(nn.Flatten(), nn.Linear(64, 48), nn.ReLU(), nn.Dropout(0.3), nn.Linear(48, 10))

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, i):
        x, y = batch
        loss = F.cross_entropy(self(x), y)
        return {"loss": loss, "log": {"train_loss": loss.detach()}}

    def validation_step(self, batch, i):
        x, y = batch
        return (self(x).argmax(1) == y).float().mean()

    def configure_optimizers(self):
        opt = torch.optim.Adam(self.parameters(), lr=self.lr)
        return opt, torch.optim.lr_scheduler.MultiStepLR(opt, milestones=[2, 4], gamma=0.1)


@dataclass
class Fit:
    max_epochs: int = 5
    logs: list = field(default_factory=list)

    def run_training_batch(self, model, opt, sched, batch, i):
        out = model.training_step(batch, i)
        opt.zero_grad()
        out["loss"].backward()
        self.on_after_backward(model, opt)
        opt.step()
        self.logs.append({k: float(v) for k, v in out["log"].items()})

    def on_after_backward(self, model, opt):
        self.grad_norm = nn.utils.clip_grad_norm_(model.parameters(), 5.0)

    def validate(self, model, loader):
        model.eval()
        with torch.no_grad():
            scores = [model.validation_step(b, i) for i, b in enumerate(loader)]
        return torch.stack(scores).mean().item()

    def fit(self, model, train, val):
        opt, sched = model.configure_optimizers()
        for epoch in range(self.max_epochs):
            for i, batch in enumerate(train):
                self.run_training_batch(model, opt, sched, batch, i)
            sched.step()
            acc = self.validate(model, val)
        return acc


torch.manual_seed(14)
proto = torch.randn(10, 1, 8, 8)
y = torch.randint(0, 10, (400,))
x = proto[y] + 0.8 * torch.randn(400, 1, 8, 8)
train, val = TensorDataset(x[:320], y[:320]), TensorDataset(x[320:], y[320:])
print(Fit().fit(LitClassifier(), DataLoader(train, 32, shuffle=True), DataLoader(val, 80)))
