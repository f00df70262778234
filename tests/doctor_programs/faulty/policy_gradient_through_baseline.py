# expect: target-not-detached line 25, 26
# The advantage keeps the graph of the value head; the policy term moves the baseline.

import clew as torch
from clew import nn

torch.manual_seed(0)


class AC(nn.Module):
    def __init__(self):
        super().__init__()
        self.pi = nn.Sequential(nn.Linear(5, 24), nn.Tanh(), nn.Linear(24, 3))
        self.v = nn.Sequential(nn.Linear(5, 24), nn.Tanh(), nn.Linear(24, 1))

    def forward(self, o):
        return self.pi(o), self.v(o).squeeze(-1)


def losses(net, obs, reward_fn):
    logits, value = net(obs)
    dist = torch.distributions.Categorical(logits=logits)
    action = dist.sample()
    ret = reward_fn(obs, action)
    advantage = ret - value
    actor = -(dist.log_prob(action) * advantage).mean()
    critic = nn.functional.mse_loss(value, ret)
    return actor + 0.5 * critic - 0.01 * dist.entropy().mean()


net = AC()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for i in range(30):
    loss = losses(net, torch.randn(32, 5), lambda o, a: o.gather(1, a.unsqueeze(1)).squeeze(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
