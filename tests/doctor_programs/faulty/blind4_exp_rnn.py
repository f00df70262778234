# expect: exploding-gradient line 8, 16

import clew as torch

torch.manual_seed(0)
H = 20
Wx = (torch.randn(3, H) * 0.3).requires_grad_()
Wh = (torch.randn(H, H) * 0.8).requires_grad_()
Wo = (torch.randn(H, 1) * 0.1).requires_grad_()
opt = torch.optim.SGD([Wx, Wh, Wo], lr=1e-6)
for it in range(30):
    x = torch.randn(16, 25, 3)
    y = x[:, :, 0].mean(1, keepdim=True)
    h = torch.zeros(16, H)
    for t in range(25):
        h = torch.relu(x[:, t] @ Wx + h @ Wh)
    loss = ((h @ Wo - y) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(it, loss.item())
    if loss.item() > 1e30:
        break
