# expect: nothing
# The penalty needs the gradient of the code with respect to the input, with create_graph.

import torch
from torch import nn


class Contractive(nn.Module):
    def __init__(self, dim=8, code=4):
        super().__init__()
        self.enc, self.dec = nn.Linear(dim, code), nn.Linear(code, dim)

    def forward(self, x):
        z = torch.tanh(self.enc(x))
        return self.dec(z), z


torch.manual_seed(423)
data = torch.randn(120, 3) @ torch.randn(3, 8)
model = Contractive()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
losses = []
for _ in range(15):
    for batch in data.split(40):
        x = batch.clone().requires_grad_(True)
        recon, z = model(x)
        (jac,) = torch.autograd.grad(z.pow(2).sum(), x, create_graph=True)
        loss = nn.functional.mse_loss(recon, batch) + 1e-3 * jac.pow(2).sum(dim=1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
print(losses[0], losses[-1])
