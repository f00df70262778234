"""A detached hidden layer: everything in front of it never learns: repaired.

What is kept for the plot is detached, what goes on is not.
"""

import clew as torch

nn, F = torch.nn, torch.nn.functional
torch.manual_seed(0)


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 32)
        self.second = nn.Linear(32, 2)

    def forward(self, x):
        hidden = torch.relu(self.first(x))
        self.features = hidden.detach()
        return self.second(hidden)


x = torch.randn(256, 2)
y = (x[:, 0] * x[:, 1] > 0).long()
model = Network()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

for epoch in range(10):
    for rows in torch.randperm(256).split(64):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}, loss {loss.item():.4f}, features {model.features.mean().item():.3f}")
