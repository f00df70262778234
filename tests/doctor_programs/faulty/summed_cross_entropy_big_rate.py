# expect: wrong-reduction or bad-learning-rate line 9, 10, 15
# A summed loss with the rate of a mean.

import clew as torch
from clew import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(10, 40), nn.ReLU(), nn.Linear(40, 5))
criterion = nn.CrossEntropyLoss(reduction="sum")
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
x = torch.randn(512, 10)
y = x[:, :5].argmax(1)
for epoch in range(5):
    for i in range(0, 512, 128):
        loss = criterion(net(x[i : i + 128]), y[i : i + 128])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item() / 128)
