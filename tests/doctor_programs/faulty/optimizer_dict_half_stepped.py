# expect: missing-step line 23, 32
# Only the optimizers named in the list are stepped; "decoder" is not among them.

import torch
from torch import nn


class Seq(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.LSTM(3, 12, batch_first=True)
        self.decoder = nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 3))

    def forward(self, x):
        _, (h, _) = self.encoder(x)
        return self.decoder(h[-1])


torch.manual_seed(305)
model = Seq()
optimizers = {
    "encoder": torch.optim.Adam(model.encoder.parameters(), lr=5e-3),
    "decoder": torch.optim.Adam(model.decoder.parameters(), lr=5e-3),
}
to_step = ["encoder"]
x = torch.randn(64, 7, 3)
target = x.mean(dim=1)
for epoch in range(15):
    for optimizer in optimizers.values():
        optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), target)
    loss.backward()
    for name in to_step:
        optimizers[name].step()
    if epoch % 5 == 0:
        print(epoch, loss.item())
