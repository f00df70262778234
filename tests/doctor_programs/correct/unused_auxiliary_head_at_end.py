# expect: nothing
# The auxiliary head is used in the first half of training only.

import clew as torch
from clew import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Linear(6, 20), nn.ReLU())
        self.aux = nn.Linear(20, 3)
        self.top = nn.Sequential(nn.Linear(20, 20), nn.ReLU(), nn.Linear(20, 3))

    def forward(self, x, with_aux):
        h = self.stem(x)
        return self.top(h), self.aux(h) if with_aux else None


net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(30):
    x = torch.randn(16, 6)
    y = x[:, :3].argmax(1)
    out, aux = net(x, i < 15)
    loss = nn.functional.cross_entropy(out, y)
    if aux is not None:
        loss = loss + 0.3 * nn.functional.cross_entropy(aux, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
