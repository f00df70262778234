# expect: step-before-backward line 42
# REINFORCE: the policy's optimizer steps before the loss of the episode is back-propagated.

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(5)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(3, 24)
        self.head = nn.Linear(24, 2)

    def forward(self, s):
        return Categorical(logits=self.head(torch.tanh(self.body(s))))


class Env:
    def reset(self):
        self.t, self.s = 0, torch.randn(3)
        return self.s

    def step(self, a):
        reward = 1.0 if (self.s[0] > 0) == bool(a) else 0.0
        self.t += 1
        self.s = torch.randn(3)
        return self.s, reward, self.t >= 10


def update(policy, opt, logps, rewards):
    returns, g = [], 0.0
    for r in reversed(rewards):
        g = r + 0.9 * g
        returns.insert(0, g)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + 1e-6)
    loss = -(torch.stack(logps) * returns).mean()
    opt.zero_grad()
    opt.step()
    loss.backward()
    return loss.item()


env, policy = Env(), Policy()
opt = torch.optim.Adam(policy.parameters(), lr=1e-2)
for episode in range(20):
    s, done, logps, rewards = env.reset(), False, [], []
    while not done:
        pi = policy(s)
        a = pi.sample()
        s, r, done = env.step(a.item())
        logps.append(pi.log_prob(a))
        rewards.append(r)
    update(policy, opt, logps, rewards)
print(sum(rewards))
