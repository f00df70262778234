"""einops: patches of images by rearrange, reductions, repetitions, and a layer."""

import torch
from einops import einsum, rearrange, reduce, repeat
from einops.layers.torch import Rearrange
from torch import nn

torch.manual_seed(0)
images = torch.randn(4, 3, 8, 8)
model = nn.Sequential(
    Rearrange("b c (h p) (w q) -> b (h w) (p q c)", p=4, q=4), nn.Linear(48, 16), nn.GELU()
)
head = nn.Linear(16, 2)
optimizer = torch.optim.SGD([*model.parameters(), *head.parameters()], lr=0.1)
for _ in range(5):
    loss = (head(reduce(model(images), "b n d -> b d", "mean")) - 1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.6f}")
x = repeat(torch.arange(3.0), "n -> b n", b=2)
print(rearrange(x, "b n -> (n b)").tolist(), einsum(x, x, "b n, b m -> n m").tolist())
