# expect: nothing
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(61)


class TiedAE(nn.Module):
    def __init__(self, d=20, h=12):
        super().__init__()
        self.enc = nn.Linear(d, h)
        self.dec_bias = nn.Parameter(torch.zeros(d))

    def forward(self, x):
        z = F.relu(self.enc(x))
        return F.linear(z, self.enc.weight.t(), self.dec_bias), z


def corrupt(x, p=0.2):
    return x * (torch.rand_like(x) > p)


mix = torch.randn(4, 20)
model = TiedAE()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
best, snapshots = float("inf"), []
for epoch in range(40):
    x = torch.rand(64, 4) @ mix
    out, z = model(corrupt(x))
    loss = F.mse_loss(out, x) + 1e-4 * z.abs().mean()
    model.zero_grad()
    loss.backward()
    opt.step()
    if epoch % 8 == 0:
        snapshots.append(model.enc.weight.detach().clone())
print(loss.item(), torch.stack(snapshots).std(0).mean().item())
