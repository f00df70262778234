# expect: accumulation-not-averaged line 18, 25, 28
# Accumulation with a GradScaler: the scaled loss of each micro-batch counts fully.

import torch
from torch import nn


class AmpTrainer:
    def __init__(self, model, lr=0.02, accumulate=4):
        self.model = model
        self.accumulate = accumulate
        self.opt = torch.optim.SGD(model.parameters(), lr=lr)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=256.0)

    def loss(self, x, y):
        with torch.autocast("cpu", dtype=torch.float16):
            out = self.model(x)
        return nn.functional.cross_entropy(out.float(), y)

    def epoch(self, batches):
        losses = []
        self.opt.zero_grad()
        for i, (x, y) in enumerate(batches, start=1):
            loss = self.loss(x, y)
            self.scaler.scale(loss).backward()
            losses.append(loss.item())
            if i % self.accumulate == 0:
                self.scaler.step(self.opt)
                self.scaler.update()
                self.opt.zero_grad()
        return sum(losses) / len(losses)


torch.manual_seed(19)
x = torch.randn(128, 12)
y = (x[:, 0] > 0).long() + 2 * (x[:, 1] > 0).long()
model = nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 4))
trainer = AmpTrainer(model)
batches = list(zip(x.split(8), y.split(8)))
for epoch in range(3):
    print(f"epoch {epoch} loss {trainer.epoch(batches):.4f}")
