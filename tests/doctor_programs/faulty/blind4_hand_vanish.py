# expect: vanishing-gradient line 7, 15

import torch

torch.manual_seed(0)
sizes = [8] + [24] * 10 + [1]
Ws = [(torch.randn(a, b) / a**0.5).requires_grad_() for a, b in zip(sizes, sizes[1:])]  # noqa: RUF007
bs = [torch.zeros(b, requires_grad=True) for b in sizes[1:]]
opt = torch.optim.SGD(Ws + bs, lr=0.1)
X = torch.randn(128, 8)
y = (X[:, :1] > 0).float()
for ep in range(60):
    h = X
    for W, b in zip(Ws[:-1], bs[:-1]):
        h = torch.sigmoid(h @ W + b)
    out = h @ Ws[-1] + bs[-1]
    loss = torch.nn.functional.binary_cross_entropy_with_logits(out, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
