# expect: nothing
# The decoder takes part only from the sixth epoch on, as the curriculum says.

import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(8, 16), nn.ReLU())
        self.classifier, self.decoder = nn.Linear(16, 2), nn.Linear(16, 8)

    def forward(self, x, reconstruct):
        h = self.encoder(x)
        return self.classifier(h), self.decoder(h) if reconstruct else None


torch.manual_seed(521)
model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
x = torch.randn(90, 8)
y = (x[:, 0] > x[:, 1]).long()
losses = []
for epoch in range(15):
    for xb, yb in zip(x.split(30), y.split(30)):
        logits, recon = model(xb, reconstruct=epoch >= 6)
        loss = F.cross_entropy(logits, yb)
        losses.append(loss.item())
        if recon is not None:
            loss = loss + 0.1 * F.mse_loss(recon, xb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(losses[0], losses[-1])
