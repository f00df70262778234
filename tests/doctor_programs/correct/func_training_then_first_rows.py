# expect: nothing
import torch
from torch import nn
import torch.nn.functional as F
from torch.func import functional_call, grad, vmap

torch.manual_seed(3)
net = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 3))
weights = {n: p.detach() for n, p in net.named_parameters()}
x = torch.randn(300, 5)
y = x[:, :3].argmax(1)


def objective(w, inputs, labels):
    return F.cross_entropy(functional_call(net, w, (inputs,)), labels)


def single(w, row, label):
    return objective(w, row[None], label[None])


gradient = grad(objective)
for step in range(80):
    pick = torch.randint(0, 300, (50,))
    g = gradient(weights, x[pick], y[pick])
    weights = {n: w - 0.2 * g[n] for n, w in weights.items()}
each = vmap(grad(single), in_dims=(None, 0, 0))(weights, x[:20], y[:20])
print(sum(v.flatten(1).pow(2).sum(1) for v in each.values()).sqrt().mean().item())
