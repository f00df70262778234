# expect: nan-origin line 14
# log(softmax) by hand with large logits.

import clew as torch
from clew import nn

torch.manual_seed(0)
net = nn.Linear(4, 5)
opt = torch.optim.SGD(net.parameters(), lr=0.5)
for i in range(15):
    x = torch.randn(16, 4) * 300
    y = x[:, :4].argmax(1)
    p = net(x).softmax(1)
    loss = -p.log().gather(1, y[:, None]).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
