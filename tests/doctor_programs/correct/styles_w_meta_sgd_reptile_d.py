# expect: nothing
import copy
import torch
from torch import nn

torch.manual_seed(909)


def make():
    return nn.Sequential(nn.Linear(2, 20), nn.Tanh(), nn.Linear(20, 1))


class Task:
    def __init__(self):
        self.w = torch.randn(2)

    def batch(self, n=16):
        x = torch.randn(n, 2)
        return x, torch.sin(x @ self.w)[:, None]


def inner(net, task, steps=5, lr=0.05):
    opt = torch.optim.SGD(net.parameters(), lr=lr, momentum=0.5)
    track = []
    for _ in range(steps):
        x, y = task.batch()
        loss = nn.functional.mse_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        track.append(loss.item())
    return net, track


meta, log = make(), []
for it in range(20):
    start = copy.deepcopy(meta.state_dict())
    net, track = inner(copy.deepcopy(meta), Task())
    log.append(track)
    with torch.no_grad():
        new = net.state_dict()
        blended = {k: start[k] + 0.3 * (new[k] - start[k]) for k in start}
    meta.load_state_dict({k: torch.lerp(start[k], new[k], 0.3) for k in start})
print(float(log[-1][-1]))
