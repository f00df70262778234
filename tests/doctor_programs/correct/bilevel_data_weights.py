# expect: nothing
# Sample weights are learned through one differentiable inner step.

import torch
import torch.nn.functional as F

torch.manual_seed(717)
x = torch.randn(60, 3)
clean = x @ torch.tensor([1.0, -1.0, 0.5])
noisy = clean.clone()
noisy[:15] += 4.0
x_meta = torch.randn(30, 3)
y_meta = x_meta @ torch.tensor([1.0, -1.0, 0.5])
logits = torch.zeros(60, requires_grad=True)
w = torch.zeros(3, requires_grad=True)
opt_w, opt_weights = torch.optim.SGD([w], lr=0.1), torch.optim.Adam([logits], lr=0.1)
meta = []
for _ in range(60):
    weights = torch.softmax(logits, dim=0)
    inner = (weights * (x @ w - noisy) ** 2).sum()
    (grad,) = torch.autograd.grad(inner, w, create_graph=True)
    outer = F.mse_loss(x_meta @ (w - 0.1 * grad), y_meta)
    opt_weights.zero_grad()
    outer.backward()
    opt_weights.step()

    opt_w.zero_grad()
    (torch.softmax(logits, dim=0).detach() * (x @ w - noisy) ** 2).sum().backward()
    opt_w.step()
    meta.append(outer.item())
print(meta[0], meta[-1])
