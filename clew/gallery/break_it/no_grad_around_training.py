"""A no_grad that was meant for evaluation, around the training, too.

The function is used for evaluation and for training; the decorator was right for the first. In
training the loss has no graph: backward raises, and a `requires_grad_()` would only hide it.
"""

import clew as torch

nn, F = torch.nn, torch.nn.functional
torch.manual_seed(0)

x = torch.randn(256, 4)
y = (x[:, 0] > x[:, 1]).long()
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)


@torch.no_grad()  # the bug: the loss below is used for training, too
def loss_on(rows):
    return F.cross_entropy(model(x[rows]), y[rows])


held_out = torch.arange(192, 256)
for epoch in range(5):
    for rows in torch.randperm(192).split(64):
        optimizer.zero_grad()
        loss_on(rows).backward()
        optimizer.step()
    held_out_loss = loss_on(held_out)
    print(f"epoch {epoch}, loss {held_out_loss.item():.4f}")
