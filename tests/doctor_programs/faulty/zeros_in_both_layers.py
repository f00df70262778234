# expect: bad-init line 7, 9
# Hand-made two-layer network from zeros: no gradient passes.

import torch

torch.manual_seed(0)
W1 = torch.zeros(5, 12, requires_grad=True)
b1 = torch.zeros(12, requires_grad=True)
W2 = torch.zeros(12, 3, requires_grad=True)
b2 = torch.zeros(3, requires_grad=True)
params = [W1, b1, W2, b2]
opt = torch.optim.Adam(params, lr=1e-2)
for i in range(30):
    x = torch.randn(24, 5)
    y = x[:, :3].argmax(1)
    h = torch.relu(x @ W1 + b1)
    loss = torch.nn.functional.cross_entropy(h @ W2 + b2, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
