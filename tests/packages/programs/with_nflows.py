"""a masked autoregressive flow fitted to data"""

import torch
from nflows.distributions.normal import StandardNormal
from nflows.flows.base import Flow
from nflows.transforms.autoregressive import MaskedAffineAutoregressiveTransform
from nflows.transforms.base import CompositeTransform
from nflows.transforms.permutations import ReversePermutation

torch.manual_seed(0)
steps = [
    ReversePermutation(features=2),
    MaskedAffineAutoregressiveTransform(features=2, hidden_features=8),
]
flow = Flow(CompositeTransform(steps), StandardNormal(shape=[2]))
optimizer = torch.optim.Adam(flow.parameters())
x = torch.randn(16, 2)
for _ in range(3):
    loss = -flow.log_prob(x).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.5f}")
