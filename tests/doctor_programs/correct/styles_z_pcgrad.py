# expect: nothing
import random
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(20)
random.seed(20)


class MultiTask(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(14, 40), nn.ReLU(), nn.Linear(40, 40), nn.ReLU())
        self.heads = nn.ModuleDict({"cls": nn.Linear(40, 3), "reg": nn.Linear(40, 1), "aux": nn.Linear(40, 2)})

    def forward(self, x):
        h = self.shared(x)
        return {name: head(h) for name, head in self.heads.items()}


class PCGrad:
    def __init__(self, optimizer):
        self.optimizer = optimizer
        self.params = [p for g in optimizer.param_groups for p in g["params"]]

    def flat(self, loss):
        grads = torch.autograd.grad(loss, self.params, retain_graph=True, allow_unused=True)
        return torch.cat([(torch.zeros_like(p) if g is None else g).flatten() for p, g in zip(self.params, grads)])

    def step(self, losses):
        grads = [self.flat(loss) for loss in losses]
        merged = torch.zeros_like(grads[0])
        for i, g in enumerate(grads):
            g = g.clone()
            others = [o for j, o in enumerate(grads) if j != i]
            random.shuffle(others)
            for o in others:
                dot = torch.dot(g, o)
                if dot < 0:
                    g -= dot / (o.norm() ** 2 + 1e-12) * o
            merged += g
        start = 0
        for p in self.params:
            p.grad = merged[start:start + p.numel()].view_as(p).clone()
            start += p.numel()
        self.optimizer.step()


x = torch.randn(240, 14)
y_cls, y_reg, y_aux = x[:, :3].argmax(1), x[:, 3] * x[:, 4], (x[:, 5] > 0).long()
net = MultiTask()
surgery = PCGrad(torch.optim.Adam(net.parameters(), lr=3e-3))
for epoch in range(4):
    for i in range(0, 240, 48):
        s = slice(i, i + 48)
        out = net(x[s])
        losses = [
            F.cross_entropy(out["cls"], y_cls[s]),
            F.mse_loss(out["reg"].squeeze(1), y_reg[s]),
            F.cross_entropy(out["aux"], y_aux[s]),
        ]
        surgery.step(losses)
    print(epoch, [round(float(l), 3) for l in losses])
