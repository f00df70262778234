# expect: bad-init line 8, 10

import torch

torch.manual_seed(0)
X = torch.randn(80, 3)
y = (X[:, 0] * X[:, 1] > 0).float().unsqueeze(1)
W1 = torch.ones(3, 16, requires_grad=True)
b1 = torch.zeros(16, requires_grad=True)
W2 = torch.ones(16, 1, requires_grad=True)
b2 = torch.zeros(1, requires_grad=True)
params = [W1, b1, W2, b2]
for step in range(100):
    h = torch.tanh(X @ W1 + b1)
    logit = h @ W2 + b2
    loss = torch.nn.functional.binary_cross_entropy_with_logits(logit, y)
    grads = torch.autograd.grad(loss, params)
    with torch.no_grad():
        for p, g in zip(params, grads):
            p.sub_(0.1 * g)
print(loss.item())
