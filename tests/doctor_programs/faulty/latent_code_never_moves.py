# expect: missing-requires-grad line 20, 21
# The latent code handed to the optimizer does not require grad, so the search never moves it.

import torch
from torch import nn

torch.manual_seed(46)


class Decoder(nn.Module):
    def __init__(self, latent=4, out=12):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(latent, 24), nn.Tanh(), nn.Linear(24, out))

    def forward(self, z):
        return self.net(z)


def invert(decoder, image, steps=40):
    code = torch.zeros(1, 4)
    optimizer = torch.optim.Adam([code], lr=0.05)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (decoder(code) - image).pow(2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return code, losses


decoder = Decoder().eval()
with torch.no_grad():
    image = decoder(torch.randn(1, 4))
code, losses = invert(decoder, image)
print("start", losses[0], "end", losses[-1], "code", code.tolist())
