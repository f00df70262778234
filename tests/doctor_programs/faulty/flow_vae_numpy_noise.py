# expect: detached-graph line 19, 20

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Linear(12, 8)
        self.d = nn.Linear(4, 12)

    def forward(self, x):
        mu, logvar = self.e(x).chunk(2, dim=1)
        m = mu.detach().cpu().numpy()
        s = np.exp(0.5 * logvar.detach().cpu().numpy())
        z = torch.from_numpy(m + s * np.random.randn(*m.shape).astype("float32"))
        return self.d(z), mu, logvar


net = Model()
opt = torch.optim.Adam(net.parameters(), 1e-3)
X = torch.rand(96, 12)
for step in range(30):
    idx = torch.randint(0, 96, (24,))
    xb = X[idx]
    out, mu, logvar = net(xb)
    rec = F.mse_loss(out, xb, reduction="sum") / len(xb)
    kld = 0.5 * (mu**2 + logvar.exp() - 1 - logvar).sum(1).mean()
    loss = rec + 0.1 * kld
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        print(step, loss.item(), kld.item())
