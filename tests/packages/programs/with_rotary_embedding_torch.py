"""queries and keys rotated by their positions"""

import torch
from rotary_embedding_torch import RotaryEmbedding

torch.manual_seed(0)
rotary = RotaryEmbedding(dim=8)
q = torch.randn(1, 2, 5, 16, requires_grad=True)
out = rotary.rotate_queries_or_keys(q)
out.square().sum().backward()
print(f"{out.sum().item():.4f} {q.grad.sum().item():.4f}")
