# expect: missing-requires-grad or detached-graph line 35
import copy
import torch
from torch import nn
from torch.func import functional_call, stack_module_state, vmap, grad_and_value

torch.manual_seed(1)


def make_net():
    return nn.Sequential(nn.Linear(6, 20), nn.GELU(), nn.Linear(20, 3))


nets = [make_net() for _ in range(4)]
params, buffers = stack_module_state(nets)
base = copy.deepcopy(nets[0]).to("cpu")


def loss_fn(p, b, x, y):
    logits = functional_call(base, (p, b), (x,))
    probs = torch.log_softmax(logits, dim=-1)
    return -probs.gather(1, y[:, None]).mean()


w = torch.randn(6, 3)
x = torch.randn(64, 6)
y = (x @ w).argmax(1)
step = vmap(grad_and_value(loss_fn), in_dims=(0, 0, None, None))
for it in range(20):
    grads, losses = step(params, buffers, x, y)
    with torch.no_grad():
        params = {k: p - 0.2 * grads[k] for k, p in params.items()}

# Then one member is fine-tuned with an ordinary optimizer.
member = {k: v[0].clone().detach() for k, v in params.items()}
opt = torch.optim.SGD(member.values(), lr=0.05)
for it in range(10):
    opt.zero_grad()
    loss = nn.functional.cross_entropy(functional_call(base, member, (x,)), y)
    loss.backward()
    opt.step()
print(loss.item())
