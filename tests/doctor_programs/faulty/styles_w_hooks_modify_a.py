# expect: detached-graph line 17
import torch
import torch.nn as nn

torch.manual_seed(29)
model = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 2))
acts = {}


def tap(name):
    def hook(mod, inp, out):
        acts[name] = out.detach().abs().mean()
    return hook


def replace_out(mod, inp, out):
    return out.data * 1.0


def normalise(grad):
    return grad / (grad.norm() + 1e-8) * 0.1


for i, layer in enumerate(model):
    layer.register_forward_hook(tap(f"{i}"))
model[1].register_forward_hook(replace_out)
model[0].weight.register_hook(normalise)
model[4].bias.register_hook(lambda g: g.clamp(-1, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.8)
for step in range(40):
    x = torch.randn(48, 6)
    y = torch.stack([x[:, 0] * x[:, 1], x[:, 2]], 1)
    loss = (model(x) - y).square().sum(1).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item(), len(acts))
