# expect: nothing

import torch
from torch import nn


class Forecast(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(1, 24, num_layers=2, dropout=0.1, batch_first=True)
        self.fc = nn.Linear(24, 1)

    def forward(self, x):
        o, _ = self.lstm(x)
        return self.fc(o[:, -1])


torch.manual_seed(0)
t = torch.arange(0, 300).float()
s = torch.sin(t / 6) + 0.05 * torch.randn(300)
W = torch.stack([s[i : i + 20] for i in range(280)]).unsqueeze(-1)
Y = s[20:300].unsqueeze(1)
net = Forecast()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for ep in range(6):
    net.train()
    for i in torch.randperm(220).split(32):
        opt.zero_grad()
        loss = nn.functional.mse_loss(net(W[i]), Y[i])
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        print(ep, loss.item(), nn.functional.mse_loss(net(W[240:]), Y[240:]).item())
