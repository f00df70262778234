# expect: nothing
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(24)
ACC = 4


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.seq = nn.Sequential(nn.Linear(20, 64), nn.GELU(), nn.LayerNorm(64), nn.Linear(64, 5))

    def forward(self, x):
        return self.seq(x)


def train_epoch(net, loader, opt, scaler):
    net.train()
    for i, (xb, yb) in enumerate(loader):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = F.cross_entropy(net(xb), yb)
        scaler.scale(loss / ACC).backward()
        if (i + 1) % ACC == 0:
            scaler.unscale_(opt)
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            scaler.step(opt)
            scaler.update()
            opt.zero_grad(set_to_none=True)
    return loss.item()


x = torch.randn(256, 20)
y = (x @ torch.randn(20, 5)).argmax(1)
loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True, drop_last=True)
net = Net()
opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
scaler = torch.amp.GradScaler("cpu")
for epoch in range(3):
    print(train_epoch(net, loader, opt, scaler))
