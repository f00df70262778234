# expect: nothing
# The actor's weights are refreshed from the learner every few updates by load_state_dict.

import torch
from torch import nn
from torch.distributions import Categorical


def network():
    return nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 3))


torch.manual_seed(1015)
learner, actor = network(), network()
actor.load_state_dict(learner.state_dict())
optimizer = torch.optim.Adam(learner.parameters(), lr=1e-2)
errors = []
for update in range(60):
    obs = torch.randn(64, 4)
    with torch.no_grad():
        behaviour = Categorical(logits=actor(obs))
        action = behaviour.sample()
        mu = behaviour.log_prob(action)
    reward = (action == obs[:, :3].argmax(1)).float()
    pi = Categorical(logits=learner(obs)).log_prob(action)
    rho = (pi - mu).exp().clamp(max=1.0).detach()
    loss = -(rho * (reward - reward.mean()) * pi).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if update % 5 == 4:
        actor.load_state_dict(learner.state_dict())
    errors.append(1 - reward.mean().item())
print(sum(errors[:5]) / 5, sum(errors[-5:]) / 5)
