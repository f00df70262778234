"""a neural spline flow fitted to data"""

import torch
import zuko

torch.manual_seed(0)
flow = zuko.flows.NSF(features=2, context=1, transforms=2, hidden_features=(8, 8))
optimizer = torch.optim.Adam(flow.parameters(), lr=1e-2)
x, c = torch.randn(16, 2), torch.randn(16, 1)
for _ in range(3):
    loss = -flow(c).log_prob(x).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.5f}")
print(flow(c[0]).sample((3,)).shape)
