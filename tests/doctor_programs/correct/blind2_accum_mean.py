# expect: nothing

import clew as torch
from clew import nn

torch.manual_seed(0)
K = 4
net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 3))
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
X = torch.randn(200, 10)
Y = X[:, :3].argmax(1)
for epoch in range(4):
    opt.zero_grad()
    batches = list(zip(X.split(12), Y.split(12)))
    for i, (x, y) in enumerate(batches):
        loss = nn.functional.cross_entropy(net(x), y)
        (loss / K).backward()
        if (i + 1) % K == 0 or i + 1 == len(batches):
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            opt.step()
            opt.zero_grad()
    print(epoch, loss.item())
