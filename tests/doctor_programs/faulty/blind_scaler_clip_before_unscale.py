# expect: clip-misplaced line 19
# Norm clipping on scaled gradients.

import torch
from torch import nn


class Engine:
    def __init__(self, model):
        self.model = model
        self.opt = torch.optim.AdamW(model.parameters(), 1e-3)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)

    def __call__(self, x, y):
        self.opt.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = nn.functional.cross_entropy(self.model(x), y)
        self.scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.scaler.step(self.opt)
        self.scaler.update()
        return loss.item()


torch.manual_seed(0)
engine = Engine(nn.Sequential(nn.Linear(5, 24), nn.ReLU(), nn.Linear(24, 3)))
for step in range(20):
    x = torch.randn(16, 5)
    print(engine(x, x[:, :3].argmax(1)))
