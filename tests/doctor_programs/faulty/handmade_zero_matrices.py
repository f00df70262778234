# expect: bad-init line 10, 12
# The two weight matrices of the hand-made network are created with torch.zeros.

import torch

torch.manual_seed(116)
X = torch.randn(90, 3)
Y = (X.norm(dim=1, keepdim=True) > 1.5).float()

W1 = torch.zeros(3, 16, requires_grad=True)
b1 = torch.zeros(16, requires_grad=True)
W2 = torch.zeros(16, 1, requires_grad=True)
b2 = torch.zeros(1, requires_grad=True)
params = [W1, b1, W2, b2]
lr = 0.5

for epoch in range(40):
    hidden = torch.relu(X @ W1 + b1)
    logits = hidden @ W2 + b2
    loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, Y)
    loss.backward()
    with torch.no_grad():
        for p in params:
            p -= lr * p.grad
            p.grad = None
    if epoch % 10 == 0:
        print(epoch, loss.item())
