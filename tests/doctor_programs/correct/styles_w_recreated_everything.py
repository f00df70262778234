# expect: nothing
import copy
import torch
import torch.nn as nn

torch.manual_seed(23)


class Finetune:
    def __init__(self):
        self.backbone = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.head = nn.Linear(32, 5)

    def parameters(self):
        yield from self.backbone.parameters()
        yield from self.head.parameters()

    def __call__(self, x):
        return self.head(self.backbone(x))

    def swap_head(self, classes):
        self.head = nn.Linear(32, classes)

    def freeze(self, flag=True):
        for p in self.backbone.parameters():
            p.requires_grad = not flag


def phase(model, opt, n, classes, sched=None):
    for _ in range(n):
        x = torch.randn(40, 12)
        y = (x[:, :classes] + 0.3 * x[:, 1 : classes + 1]).argmax(1)
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if sched is not None:
            sched.step()
    return loss.item()


m = Finetune()
opt = torch.optim.Adam(m.parameters(), lr=3e-3)
print(phase(m, opt, 20, 5))
m.swap_head(3)
m.freeze()
opt = torch.optim.Adam(m.head.parameters(), lr=5e-3)
print(phase(m, opt, 20, 3))
kept = copy.deepcopy([p.detach() for p in m.parameters()])
m.freeze(False)
opt = torch.optim.Adam(m.parameters(), lr=3e-4)
after = phase(m, opt, 20, 3)
if after > 0.0:
    with torch.no_grad():
        for p, k in zip(m.parameters(), kept):
            p.copy_(k)
print(after)
