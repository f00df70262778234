# expect: nothing
# Codebook and commitment losses detach one side each, the decoder gets straight-through codes.

import torch
import torch.nn.functional as F
from torch import nn


class VectorQuantizer(nn.Module):
    def __init__(self, codes=16, dim=4, beta=0.25):
        super().__init__()
        self.codebook = nn.Embedding(codes, dim)
        self.codebook.weight.data.uniform_(-1.0, 1.0)
        self.beta = beta

    def forward(self, z):
        distance = torch.cdist(z.detach(), self.codebook.weight.detach())
        index = distance.argmin(dim=1)
        q = self.codebook(index)
        loss = F.mse_loss(q, z.detach()) + self.beta * F.mse_loss(z, q.detach())
        return z + (q - z).detach(), loss


torch.manual_seed(231)
encoder, decoder = nn.Linear(10, 4), nn.Linear(4, 10)
quantizer = VectorQuantizer()
params = [p for m in (encoder, decoder, quantizer) for p in m.parameters()]
optimizer = torch.optim.Adam(params, lr=5e-3)
data = torch.randn(160, 2) @ torch.randn(2, 10) / 2
losses = []
for _ in range(30):
    for batch in data.split(40):
        q, vq_loss = quantizer(encoder(batch))
        reconstruction = F.mse_loss(decoder(q), batch)
        loss = reconstruction + vq_loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(reconstruction.item())
print(losses[0], losses[-1])
