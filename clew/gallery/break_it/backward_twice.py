"""Two losses through one graph, and a backward for each.

Two heads share an encoder. The first backward frees what the encoder saved; the second one needs
it again.
"""

import clew as torch

nn, F = torch.nn, torch.nn.functional
torch.manual_seed(0)

x = torch.randn(256, 4)
side = (x[:, 0] > 0).long()
size = x.pow(2).sum(dim=1, keepdim=True) / 4
encoder = nn.Sequential(nn.Linear(4, 16), nn.Tanh())
classifier, regressor = nn.Linear(16, 2), nn.Linear(16, 1)
parts = nn.ModuleList([encoder, classifier, regressor])
optimizer = torch.optim.Adam(parts.parameters(), lr=0.01)

for epoch in range(5):
    for rows in torch.randperm(256).split(64):
        optimizer.zero_grad()
        code = encoder(x[rows])
        first = F.cross_entropy(classifier(code), side[rows])
        second = F.mse_loss(regressor(code), size[rows])
        first.backward()
        second.backward()  # the bug: the encoder's graph is gone
        optimizer.step()
    print(f"epoch {epoch}, losses {first.item():.4f} and {second.item():.4f}")
