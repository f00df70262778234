# expect: loss-activation-mismatch line 17
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call, grad, vmap

torch.manual_seed(1)
model = nn.Sequential(nn.Linear(12, 24), nn.Tanh(), nn.Linear(24, 3))
params = {k: v.detach().clone() for k, v in model.named_parameters()}
data = torch.randn(256, 12)
labels = data[:, :3].argmax(1)
clip, sigma, lr = 1.0, 0.05, 0.5


def sample_loss(p, x, y):
    logits = functional_call(model, p, (x.unsqueeze(0),))
    return F.cross_entropy(logits.softmax(-1), y.unsqueeze(0))


per_sample = vmap(grad(sample_loss), in_dims=(None, 0, 0))


def private_update(p, xb, yb):
    grads = per_sample(p, xb, yb)
    norms = torch.stack([g.flatten(1).norm(dim=1) for g in grads.values()]).norm(dim=0)
    scale = (clip / (norms + 1e-6)).clamp(max=1.0)
    new = {}
    for name, g in grads.items():
        shape = (-1,) + (1,) * (g.dim() - 1)
        mean = (g * scale.view(shape)).mean(0)
        new[name] = p[name] - lr * (mean + sigma * torch.randn_like(mean) / len(xb))
    return new


for epoch in range(4):
    order = torch.randperm(len(data))
    for i in range(0, len(data), 64):
        idx = order[i:i + 64]
        params = private_update(params, data[idx], labels[idx])
    with torch.no_grad():
        acc = (functional_call(model, params, (data,)).argmax(1) == labels).float().mean()
    print(epoch, acc.item())
