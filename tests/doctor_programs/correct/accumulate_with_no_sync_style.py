# expect: nothing
# Gradient accumulation in a Trainer, with a remainder at the end of each epoch.

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Trainer:
    def __init__(self, model, accumulate):
        self.model, self.accumulate = model, accumulate
        self.opt = torch.optim.AdamW(model.parameters(), lr=2e-3)

    def epoch(self, loader):
        self.opt.zero_grad(set_to_none=True)
        n = len(loader)
        for i, (x, y) in enumerate(loader):
            window = min(self.accumulate, n - i // self.accumulate * self.accumulate)
            loss = nn.functional.cross_entropy(self.model(x), y) / window
            loss.backward()
            if (i + 1) % self.accumulate == 0 or i + 1 == n:
                nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
                self.opt.step()
                self.opt.zero_grad(set_to_none=True)
        return loss.item() * window


torch.manual_seed(0)
x = torch.randn(220, 6)
y = (x[:, 0] > 0).long()
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
trainer = Trainer(model, 4)
for epoch in range(4):
    print(trainer.epoch(DataLoader(TensorDataset(x, y), batch_size=20, shuffle=True)))
