# expect: nothing
# The learning rate itself is learned by differentiating through one update.

import torch

torch.manual_seed(277)
log_lr = torch.tensor(-5.0, requires_grad=True)
hyper_optimizer = torch.optim.Adam([log_lr], lr=0.1)
x = torch.randn(50, 3)
y = x @ torch.tensor([1.0, 2.0, -1.0])
losses = []
for _ in range(40):
    w = torch.zeros(3, requires_grad=True)
    for _ in range(3):
        inner = ((x @ w - y) ** 2).mean()
        (grad,) = torch.autograd.grad(inner, w, create_graph=True)
        w = w - log_lr.exp() * grad
    outer = ((x @ w - y) ** 2).mean()
    hyper_optimizer.zero_grad()
    outer.backward()
    hyper_optimizer.step()
    losses.append(outer.item())
print(losses[0], losses[-1])
