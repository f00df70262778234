# expect: clip-misplaced line 20
# The norm is clipped on the scaled gradients; unscaling happens inside scaler.step().

import torch
import torch.nn.functional as F
from torch import nn


class Engine:
    def __init__(self, model, max_norm=0.1):
        self.model, self.max_norm = model, max_norm
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=2048.0)

    def backward(self, loss):
        self.optimizer.zero_grad(set_to_none=True)
        self.scaler.scale(loss).backward()

    def clip(self):
        total = nn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm)
        return float(total)

    def step(self):
        self.scaler.step(self.optimizer)
        self.scaler.update()


torch.manual_seed(1107)
engine = Engine(nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 3)))
x = torch.randn(90, 6)
y = x[:, :3].argmax(1)
for it in range(12):
    with torch.autocast("cpu", dtype=torch.float16):
        logits = engine.model(x)
    loss = F.cross_entropy(logits.float(), y)
    engine.backward(loss)
    norm = engine.clip()
    engine.step()
    if it % 4 == 0:
        print(it, loss.item(), norm)
