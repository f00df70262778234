# expect: missing-requires-grad line 23
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(14)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.b1 = nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.fc = nn.Linear(8 * 16, 3)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.b1(self.c1(x))), 2)
        return self.fc(x.flatten(1))


def pgd(model, x, y, eps=0.1, alpha=0.04, steps=3):
    was = model.training
    model.eval()
    delta = torch.zeros_like(x).uniform_(-eps, eps)
    for _ in range(steps):
        loss = F.cross_entropy(model(x + delta), y)
        loss.backward()
        grad = delta.grad
        delta = (delta.detach() + alpha * grad.sign()).clamp(-eps, eps)
    model.train(was)
    return (x + delta).detach()


model = Net()
opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
x = torch.rand(120, 1, 8, 8)
y = torch.randint(0, 3, (120,))
x[torch.arange(120), 0, y] += 1.0
for epoch in range(3):
    for idx in torch.randperm(120).split(24):
        opt.zero_grad()
        adv = pgd(model, x[idx], y[idx])
        out = model(adv)
        loss = F.cross_entropy(out, y[idx])
        loss.backward()
        opt.step()
print(loss.item())
