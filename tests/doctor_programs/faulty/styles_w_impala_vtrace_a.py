# expect: target-not-detached line 26, 32, 55, 56, 57
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical

torch.manual_seed(8)
T, B, OBS, ACT = 12, 8, 5, 3


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.core = nn.LSTM(OBS, 24)
        self.policy = nn.Linear(24, ACT)
        self.baseline = nn.Linear(24, 1)

    def forward(self, obs):
        h, _ = self.core(obs)
        return self.policy(h), self.baseline(h).squeeze(-1)


def vtrace(values, bootstrap, rewards, rhos, discount=0.97):
    clipped = rhos.clamp(max=1.0)
    nxt = torch.cat([values[1:], bootstrap[None]])
    deltas = clipped * (rewards + discount * nxt - values)
    acc, out = torch.zeros_like(bootstrap), []
    for t in reversed(range(T)):
        acc = deltas[t] + discount * clipped[t] * acc
        out.append(acc)
    vs = torch.stack(out[::-1]) + values
    vs_next = torch.cat([vs[1:], bootstrap[None]])
    return vs, clipped * (rewards + discount * vs_next - values)


@torch.no_grad()
def collect(actor):
    obs = torch.randn(T + 1, B, OBS)
    logits, _ = actor(obs)
    actions = Categorical(logits=logits).sample()
    rewards = (actions[:T] == obs[:T, :, :ACT].argmax(-1)).float()
    return obs, actions[:T], rewards, logits[:T]


def main():
    learner, actor = Net(), Net()
    actor.load_state_dict(learner.state_dict())
    opt = torch.optim.RMSprop(learner.parameters(), lr=1e-3, eps=0.01)
    for update in range(30):
        obs, actions, rewards, mu = collect(actor)
        logits, values = learner(obs)
        pi = Categorical(logits=logits[:T])
        logp = pi.log_prob(actions)
        rhos = (logp - Categorical(logits=mu).log_prob(actions)).exp()
        vs, adv = vtrace(values[:T], values[T], rewards, rhos)
        pg = -(logp * adv).mean()
        value_loss = 0.5 * F.mse_loss(vs, values[:T])
        entropy = pi.entropy().mean()
        loss = pg + 0.5 * value_loss - 0.01 * entropy
        if update % 3 == 0:
            opt.zero_grad()
        loss.backward()
        opt.step()
        opt.zero_grad()
        if update % 5 == 0:
            actor.load_state_dict(learner.state_dict())
            print(update, f"{rewards.mean():.3f}")


main()
