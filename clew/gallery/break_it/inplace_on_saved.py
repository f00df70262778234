"""A tensor that backward still needs is overwritten in place.

The derivative of a sigmoid is computed from its result. The result is scaled in place before
backward comes, which raises an error that, in clew, names both lines.
"""

import clew as torch

nn, F = torch.nn, torch.nn.functional
torch.manual_seed(0)

x = torch.randn(256, 4)
y = (x.sum(dim=1, keepdim=True) > 0).float() * 2
model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

for epoch in range(5):
    for rows in torch.randperm(256).split(64):
        optimizer.zero_grad()
        answer = torch.sigmoid(model(x[rows]))
        answer *= 2  # the bug: sigmoid needs its result for backward
        loss = F.mse_loss(answer, y[rows])
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}, loss {loss.item():.4f}")
