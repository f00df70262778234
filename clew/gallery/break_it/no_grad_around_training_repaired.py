"""A no_grad that was meant for evaluation, around the training, too: repaired.

Evaluation asks for no_grad where it is called.
"""

import clew as torch

nn, F = torch.nn, torch.nn.functional
torch.manual_seed(0)

x = torch.randn(256, 4)
y = (x[:, 0] > x[:, 1]).long()
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)


def loss_on(rows):
    return F.cross_entropy(model(x[rows]), y[rows])


held_out = torch.arange(192, 256)
for epoch in range(5):
    for rows in torch.randperm(192).split(64):
        optimizer.zero_grad()
        loss_on(rows).backward()
        optimizer.step()
    with torch.no_grad():
        held_out_loss = loss_on(held_out)
    print(f"epoch {epoch}, loss {held_out_loss.item():.4f}")
