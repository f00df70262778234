"""fairscale: checkpointed blocks, and parameters in one tensor"""

import torch
from fairscale.nn.checkpoint import checkpoint_wrapper
from fairscale.nn.misc import FlattenParamsWrapper

torch.manual_seed(0)
block = torch.nn.Sequential(torch.nn.Linear(6, 12), torch.nn.GELU(), torch.nn.Linear(12, 6))
net = torch.nn.Sequential(checkpoint_wrapper(block), torch.nn.LayerNorm(6), torch.nn.Linear(6, 1))
flat = FlattenParamsWrapper(
    torch.nn.Sequential(torch.nn.Linear(6, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
)
optimizer = torch.optim.SGD([*net.parameters(), *flat.parameters()], lr=0.1, momentum=0.9)
x, y = torch.randn(8, 6), torch.randn(8, 1)
for _ in range(4):
    loss = (net(x) - y).square().mean() + (flat(x) - y).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.4f}")
print([tuple(p.shape) for p in flat.parameters()], sorted(flat.state_dict()))
