# expect: nothing

import torch

torch.manual_seed(0)
X = torch.randn(200, 5)
y = (X[:, 0] - X[:, 1] > 0).long()
clf = torch.nn.Linear(5, 2)
torch.nn.init.zeros_(clf.weight)
torch.nn.init.zeros_(clf.bias)
opt = torch.optim.SGD(clf.parameters(), lr=0.5)
for i in range(60):
    opt.zero_grad()
    loss = torch.nn.functional.cross_entropy(clf(X), y)
    loss.backward()
    opt.step()
print(loss.item())
