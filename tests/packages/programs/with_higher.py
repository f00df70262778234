"""higher: an inner loop of gradient descent that the outer step differentiates"""

import higher
import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
inner = torch.optim.SGD(net.parameters(), 0.1)
outer = torch.optim.Adam(net.parameters(), 1e-2)
for _ in range(3):
    x, y = torch.randn(8, 2), torch.randn(8, 1)
    outer.zero_grad()
    with higher.innerloop_ctx(net, inner, copy_initial_weights=False) as (copy, steps):
        for _ in range(2):
            steps.step((copy(x) - y).square().mean())
        loss = (copy(x) - y).square().mean()
        loss.backward()
    outer.step()
    print(f"{loss.item():.4f}")
