"""vector-quantize-pytorch: finite scalar quantization, with its straight-through gradient."""

import torch
from vector_quantize_pytorch import FSQ

torch.manual_seed(0)
quantizer = FSQ(levels=[8, 5, 5])
encoder = torch.nn.Linear(4, 3)
optimizer = torch.optim.SGD(encoder.parameters(), lr=0.1)
x = torch.randn(2, 6, 4)
for _ in range(3):
    codes, indices = quantizer(encoder(x))
    loss = (codes - 0.3).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.5f}", indices.flatten().tolist()[:4])
