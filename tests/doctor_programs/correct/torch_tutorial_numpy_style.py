# expect: nothing
# Hand-written gradients: no autograd at all, the weights are plain tensors by design.

import torch

torch.manual_seed(703)
N, D_in, H, D_out = 64, 20, 16, 2
x, y = torch.randn(N, D_in), torch.randn(N, D_out)
w1, w2 = torch.randn(D_in, H) * 0.2, torch.randn(H, D_out) * 0.2
learning_rate = 1e-3
losses = []
for _ in range(100):
    h = x.mm(w1)
    h_relu = h.clamp(min=0)
    y_pred = h_relu.mm(w2)
    losses.append((y_pred - y).pow(2).sum().item())
    grad_y = 2.0 * (y_pred - y)
    grad_w2 = h_relu.t().mm(grad_y)
    grad_h = grad_y.mm(w2.t())
    grad_h[h < 0] = 0
    w1 -= learning_rate * x.t().mm(grad_h)
    w2 -= learning_rate * grad_w2
print(losses[0], losses[-1])
