# expect: zero-grad-before-step line 32
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(21)
device = "cpu"


class ResBlock(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm, self.fc1, self.fc2 = nn.LayerNorm(d), nn.Linear(d, 2 * d), nn.Linear(2 * d, d)

    def forward(self, x):
        return x + self.fc2(F.silu(self.fc1(self.norm(x))))


model = nn.Sequential(nn.Linear(18, 32), ResBlock(32), ResBlock(32), nn.Linear(32, 5))
opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
scaler = torch.amp.GradScaler(device)
x = torch.randn(256, 18)
y = (x @ torch.randn(18, 5)).argmax(1)
accumulate, micro = 4, 16
steps = 0
for epoch in range(4):
    opt.zero_grad(set_to_none=True)
    for n, i in enumerate(range(0, 256, micro)):
        with torch.autocast(device, dtype=torch.float16):
            loss = F.cross_entropy(model(x[i:i + micro]), y[i:i + micro]) / accumulate
        scaler.scale(loss).backward()
        opt.zero_grad(set_to_none=True)
        if (n + 1) % accumulate == 0:
            scaler.unscale_(opt)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(opt)
            scaler.update()
            steps += 1
print(steps, loss.item() * accumulate)
