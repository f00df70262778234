# expect: nothing
# Monte-Carlo dropout: only the dropout layers are switched back on for the samples.

import torch
from torch import nn

torch.manual_seed(283)
x = torch.linspace(-2, 2, 80).unsqueeze(1)
y = torch.sin(2 * x) + 0.1 * torch.randn(80, 1)
model = nn.Sequential(nn.Linear(1, 48), nn.ReLU(), nn.Dropout(0.1), nn.Linear(48, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
losses = []
for _ in range(80):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
model.eval()
for module in model.modules():
    if isinstance(module, nn.Dropout):
        module.train()
with torch.no_grad():
    samples = torch.stack([model(x) for _ in range(20)])
print("spread", samples.std(dim=0).mean().item())
print("loss", losses[0], losses[-1])
