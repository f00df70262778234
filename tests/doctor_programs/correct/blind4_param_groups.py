# expect: nothing

import clew as torch
import clew.nn as nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(10, 32), nn.LayerNorm(32), nn.ReLU())
        self.head = nn.Linear(32, 3)

    def forward(self, x):
        return self.head(self.backbone(x))


net = Net()
decay, no = [], []
for n, p in net.backbone.named_parameters():
    (no if p.ndim == 1 else decay).append(p)
opt = torch.optim.AdamW(
    [
        {"params": decay, "lr": 1e-3, "weight_decay": 0.01},
        {"params": no, "lr": 1e-3, "weight_decay": 0.0},
        {"params": net.head.parameters(), "lr": 5e-3},
    ]
)
X = torch.randn(240, 10)
y = X[:, :3].argmax(1)
for ep in range(8):
    for xb, yb in zip(X.split(24), y.split(24)):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(xb), yb)
        loss.backward()
        opt.step()
    print(ep, loss.item())
