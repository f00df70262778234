# expect: nothing

import clew as torch
import clew.nn as nn


class Audio(nn.Module):
    def __init__(self):
        super().__init__()
        self.feat = nn.Sequential(
            nn.Conv1d(1, 8, 5, stride=2),
            nn.ReLU(),
            nn.Conv1d(8, 16, 5, stride=2),
            nn.ReLU(),
            nn.AdaptiveAvgPool1d(1),
        )
        self.cls = nn.Linear(16, 3)

    def forward(self, x):
        return self.cls(self.feat(x).squeeze(-1))


torch.manual_seed(0)
net = Audio()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
t = torch.arange(64).float()
for i in range(60):
    y = torch.randint(0, 3, (32,))
    f = torch.tensor([0.2, 0.6, 1.2])[y].unsqueeze(1)
    x = (torch.sin(f * t + 6 * torch.rand(32, 1)) + 0.2 * torch.randn(32, 64)).unsqueeze(1)
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 15 == 0:
        print(i, loss.item())
