# expect: loss-broadcast line 20
# The hand-written squared error subtracts a vector from a column: all pairs are averaged.

import torch


class LinearModel:
    def __init__(self, n):
        self.w = torch.zeros(n, 1, requires_grad=True)
        self.b = torch.zeros(1, requires_grad=True)

    def __call__(self, x):
        return x @ self.w + self.b

    def parameters(self):
        return [self.w, self.b]


def loss_fn(prediction, target):
    return ((prediction - target) ** 2).mean()


torch.manual_seed(131)
x = torch.randn(120, 3)
y = x @ torch.tensor([2.0, -1.0, 0.5]) + 1.0
model = LinearModel(3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(40):
    loss = loss_fn(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, loss.item(), model.w.flatten().tolist())
