# expect: nothing
import torch
from torch import nn
import torch.nn.functional as F


class Sampler(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(2, 48), nn.Linear(48, 1)

    def forward(self, x):
        return self.b(F.dropout(self.a(x).tanh(), p=0.2, training=True))


torch.manual_seed(5)
x = torch.randn(120, 2)
y = torch.sin(x.sum(1, keepdim=True))
net = Sampler()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(50):
    loss = F.mse_loss(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
net.eval()
with torch.no_grad():
    samples = torch.stack([net(torch.randn(30, 2)) for _ in range(8)])
print(samples.std(0).mean().item())
