# expect: nothing
# Both backwards run before either optimizer steps, so nothing needed is overwritten.

import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Linear(5, 16)
        self.value = nn.Linear(16, 1)
        self.policy = nn.Linear(16, 3)

    def forward(self, x):
        h = torch.tanh(self.trunk(x))
        return self.value(h), self.policy(h)


torch.manual_seed(214)
model = Model()
opt_value = torch.optim.SGD([*model.trunk.parameters(), *model.value.parameters()], lr=0.05)
opt_policy = torch.optim.Adam(model.policy.parameters(), lr=1e-2)
x = torch.randn(64, 5)
v_target, p_target = x.sum(1, keepdim=True) / 3, x[:, :3].argmax(1)
history = []
for _ in range(40):
    value, logits = model(x)
    value_loss = F.mse_loss(value, v_target)
    policy_loss = F.cross_entropy(logits, p_target)
    opt_value.zero_grad()
    opt_policy.zero_grad()
    value_loss.backward(retain_graph=True)
    policy_loss.backward()
    opt_value.step()
    opt_policy.step()
    history.append(value_loss.item() + policy_loss.item())
print(history[0], history[-1])
