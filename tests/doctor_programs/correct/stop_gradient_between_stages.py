# expect: nothing
# Greedy layer-wise training: stages are detached from each other by design.

import clew as torch
from clew import nn

torch.manual_seed(0)


class Stage(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(i, o), nn.ReLU())
        self.head = nn.Linear(o, 3)
        self.opt = torch.optim.Adam([*self.body.parameters(), *self.head.parameters()], lr=2e-3)

    def learn(self, x, y):
        h = self.body(x)
        loss = nn.functional.cross_entropy(self.head(h), y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return h.detach(), loss.item()


stages = [Stage(6, 20), Stage(20, 20), Stage(20, 20)]
for i in range(25):
    h = torch.randn(32, 6)
    y = h[:, :3].argmax(1)
    for s in stages:
        h, value = s.learn(h, y)
print(value)
