# expect: target-not-detached line 42, 44
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(18)


def build():
    return nn.Sequential(nn.Linear(6, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 3))


class EMA:
    def __init__(self, model, decay=0.9):
        self.model = copy.deepcopy(model)
        self.decay = decay
        for p in self.model.parameters():
            p.requires_grad_(True)

    @torch.no_grad()
    def update(self, model):
        src = model.state_dict()
        for k, v in self.model.state_dict().items():
            if v.dtype.is_floating_point:
                v.mul_(self.decay).add_(src[k], alpha=1 - self.decay)


x = torch.randn(300, 6)
y = (x @ torch.randn(6, 3)).argmax(1)
student = build()
teacher = EMA(student)
params = list(student.parameters()) + list(teacher.model.parameters())
opt = torch.optim.Adam(params, lr=5e-3)
labelled, unlabelled = torch.arange(40), torch.arange(40, 300)
for step in range(30):
    student.train()
    li = labelled[torch.randint(0, 40, (20,))]
    ui = unlabelled[torch.randint(0, 260, (60,))]
    sup = F.cross_entropy(student(x[li]), y[li])
    noisy = student(x[ui] + 0.1 * torch.randn(60, 6)).softmax(-1)
    target = teacher.model(x[ui]).softmax(-1)
    cons = F.mse_loss(noisy, target)
    loss = sup + min(1.0, step / 10) * cons
    opt.zero_grad()
    loss.backward()
    opt.step()
    teacher.update(student)
teacher.model.eval()
with torch.no_grad():
    pred = teacher.model(x).argmax(1)
print((pred == y).float().mean().item())
