# expect: backward-twice line 16, 17, 23

import clew as torch

torch.manual_seed(0)
n = 12
A = (torch.rand(n, n) < 0.3).float()
A = ((A + A.t()) > 0).float() + torch.eye(n)
logw = torch.zeros(n, n, requires_grad=True)
Wt = (torch.randn(5, 8) * 0.3).requires_grad_()
Wo = (torch.randn(8, 2) * 0.3).requires_grad_()
feats = torch.randn(n, 5)
labels = torch.randint(0, 2, (n,))
opt = torch.optim.Adam([logw, Wt, Wo], lr=0.01)

adj = A * torch.exp(logw)
adj = adj / adj.sum(1, keepdim=True)
for epoch in range(20):
    h = torch.relu(adj @ (feats @ Wt))
    logits = adj @ (h @ Wo)
    loss = torch.nn.functional.cross_entropy(logits, labels)
    opt.zero_grad()
    loss.backward()
    opt.step()
