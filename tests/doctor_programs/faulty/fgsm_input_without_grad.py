# expect: missing-requires-grad line 11
# The adversarial input was never asked for a gradient, x_adv.grad stays None.

import torch
from torch import nn

torch.manual_seed(44)


def fgsm(model, x, y, epsilon):
    x_adv = x.clone().detach()
    loss = nn.functional.cross_entropy(model(x_adv), y)
    model.zero_grad()
    loss.backward()
    return (x_adv + epsilon * x_adv.grad.sign()).detach()


x = torch.rand(60, 9)
y = (x[:, :3].sum(1) > x[:, 3:6].sum(1)).long()
model = nn.Sequential(nn.Linear(9, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for epoch in range(5):
    for xb, yb in zip(x.split(20), y.split(20)):
        attacked = fgsm(model, xb, yb, epsilon=0.05)
        optimizer.zero_grad()
        clean_loss = nn.functional.cross_entropy(model(xb), yb)
        robust_loss = nn.functional.cross_entropy(model(attacked), yb)
        (0.5 * clean_loss + 0.5 * robust_loss).backward()
        optimizer.step()
    print(epoch, clean_loss.item(), robust_loss.item())
