# expect: missing-requires-grad line 11, 12
# The hand-made weights never ask for a gradient, backward() has nothing to differentiate.

import torch

torch.manual_seed(42)
N, D_in, H, D_out = 64, 10, 20, 2
x = torch.randn(N, D_in)
y = torch.randn(N, D_out)

w1 = torch.randn(D_in, H) * 0.1
w2 = torch.randn(H, D_out) * 0.1

learning_rate = 1e-3
for t in range(100):
    y_pred = x.mm(w1).clamp(min=0).mm(w2)
    loss = (y_pred - y).pow(2).sum()
    if t % 20 == 0:
        print(t, loss.item())
    loss.backward()
    with torch.no_grad():
        w1 -= learning_rate * w1.grad
        w2 -= learning_rate * w2.grad
        w1.grad.zero_()
        w2.grad.zero_()
