# expect: bad-learning-rate line 15
# RMSprop with a rate of 1.0 never settles.

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main(lr=1.0, epochs=4):
    torch.manual_seed(613)
    x = torch.randn(160, 8)
    y = torch.tanh(x[:, :2] - x[:, 2:4])
    loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
    model = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 2))
    optimizer = torch.optim.RMSprop(model.parameters(), lr=lr)
    for epoch in range(epochs):
        for xb, yb in loader:
            loss = nn.functional.mse_loss(model(xb), yb)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(epoch, loss.item())


main()
