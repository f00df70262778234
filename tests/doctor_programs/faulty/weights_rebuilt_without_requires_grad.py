# expect: missing-requires-grad line 14, 15
import torch
from torch import nn
import torch.nn.functional as F
from torch.func import functional_call

torch.manual_seed(2)
net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
weights = {n: p.detach().clone().requires_grad_() for n, p in net.named_parameters()}
x = torch.randn(100, 4)
y = x.prod(1, keepdim=True)
for step in range(30):
    loss = F.mse_loss(functional_call(net, weights, (x,)), y)
    grads = torch.autograd.grad(loss, tuple(weights.values()))
    weights = {name: w.detach() - 0.05 * g for (name, w), g in zip(weights.items(), grads)}
print(loss.item())
