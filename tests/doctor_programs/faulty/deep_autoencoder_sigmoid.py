# expect: vanishing-gradient line 11, 18, 19
# A ten-layer autoencoder with sigmoids everywhere: the encoder hardly gets a gradient.

import torch
from torch import nn


def stack(sizes):
    layers = []
    for i in range(len(sizes) - 1):
        layers += [nn.Linear(sizes[i], sizes[i + 1]), nn.Sigmoid()]
    return nn.Sequential(*layers)


class AutoEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = stack([20, 16, 14, 12, 10, 8, 4])
        self.decoder = stack([4, 8, 10, 12, 14, 16, 20])

    def forward(self, x):
        return self.decoder(self.encoder(x))


torch.manual_seed(922)
data = torch.rand(160, 20)
model = AutoEncoder()
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
for epoch in range(8):
    for batch in data.split(40):
        loss = nn.functional.mse_loss(model(batch), batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 3 == 0:
        print(epoch, loss.item(), model.encoder[0].weight.grad.norm().item())
