# expect: bad-learning-rate line 27
# With a rate of 1e-9 the weights do not move in any number of epochs one would wait for.

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

config = {"lr": 1e-9, "momentum": 0.9, "batch_size": 25, "epochs": 6}
torch.manual_seed(111)
x = torch.randn(150, 8)
y = (x[:, 0] > 0).long() + (x[:, 1] > 0).long()
loader = DataLoader(TensorDataset(x, y), batch_size=config["batch_size"], shuffle=True)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 32)
        self.b = nn.Linear(32, 3)

    def forward(self, x):
        return self.b(F.relu(self.a(x)))


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=config["lr"], momentum=config["momentum"])
for epoch in range(config["epochs"]):
    total = 0.0
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(xb), yb)
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch}: {total / len(loader):.5f}")
