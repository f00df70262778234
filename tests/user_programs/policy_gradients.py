"""REINFORCE with Categorical, actor-critic with Normal, a SAC-like squashed policy."""

from itertools import count


def main(torch):
    nn, F, optim = torch.nn, torch.nn.functional, torch.optim
    D = torch.distributions
    torch.manual_seed(543)
    eps = torch.finfo(torch.float32).eps

    class Policy(nn.Module):
        def __init__(self):
            super().__init__()
            self.affine1 = nn.Linear(2, 16)
            self.dropout = nn.Dropout(p=0.3)
            self.affine2 = nn.Linear(16, 2)
            self.saved_log_probs = []
            self.rewards = []

        def forward(self, x):
            x = F.relu(self.dropout(self.affine1(x)))
            return F.softmax(self.affine2(x), dim=1)

    policy = Policy()
    optimizer = optim.Adam(policy.parameters(), lr=1e-2)
    running, reinforce = 10.0, []
    for episode in range(6):
        state = torch.rand(2) - 0.5
        for t in count(1):
            probs = policy(state.float().unsqueeze(0))
            m = D.Categorical(probs)
            action = m.sample()
            policy.saved_log_probs.append(m.log_prob(action))
            push = 0.1 if action.item() == 1 else -0.1
            state = state + torch.tensor([push, state[0] * 0.1])
            policy.rewards.append(1.0 - abs(state[0].item()))
            if state.abs().max() > 1 or t >= 12:
                break
        running = 0.05 * sum(policy.rewards) + (1 - 0.05) * running
        R, policy_loss, returns = 0, [], []
        for r in policy.rewards[::-1]:
            R = r + 0.99 * R
            returns.insert(0, R)
        returns = torch.tensor(returns)
        returns = (returns - returns.mean()) / (returns.std() + eps)
        for log_prob, R in zip(policy.saved_log_probs, returns):
            policy_loss.append(-log_prob * R)
        optimizer.zero_grad()
        policy_loss = torch.cat(policy_loss).sum()
        policy_loss.backward()
        optimizer.step()
        del policy.rewards[:]
        del policy.saved_log_probs[:]
        reinforce.append((policy_loss.item(), t, running))

    class ActorCritic(nn.Module):
        def __init__(self, num_inputs, num_outputs, hidden_size, std=0.0):
            super(ActorCritic, self).__init__()
            self.critic = nn.Sequential(
                nn.Linear(num_inputs, hidden_size), nn.ReLU(), nn.Linear(hidden_size, 1)
            )
            self.actor = nn.Sequential(
                nn.Linear(num_inputs, hidden_size), nn.ReLU(), nn.Linear(hidden_size, num_outputs)
            )
            self.log_std = nn.Parameter(torch.ones(1, num_outputs) * std)
            self.apply(self.init_weights)

        @staticmethod
        def init_weights(m):
            if isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, mean=0.0, std=0.1)
                nn.init.constant_(m.bias, 0.1)

        def forward(self, x):
            value = self.critic(x)
            mu = self.actor(x)
            return D.Normal(mu, self.log_std.exp().expand_as(mu)), value

    ac = ActorCritic(3, 2, 16)
    opt = optim.Adam(ac.parameters(), lr=5e-3)
    target = torch.tensor([0.5, -0.3])
    a2c = []
    for _ in range(15):
        s = torch.randn(16, 3)
        dist, value = ac(s)
        a = dist.sample()
        reward = -((a - target) ** 2).sum(1, keepdim=True)
        advantage = reward - value
        actor_loss = -(dist.log_prob(a).sum(1, keepdim=True) * advantage.detach()).mean()
        loss = actor_loss + 0.5 * advantage.pow(2).mean() - 0.001 * dist.entropy().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        a2c.append(loss.item())

    class SquashedActor(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(3, 16), nn.SiLU(), nn.Linear(16, 4))

        def forward(self, s):
            mean, log_std = self.net(s).chunk(2, dim=-1)
            log_std = torch.tanh(log_std)
            log_std = -5 + 0.5 * (2 + 5) * (log_std + 1)
            normal = D.Normal(mean, log_std.exp())
            x_t = normal.rsample()
            y_t = torch.tanh(x_t)
            log_prob = normal.log_prob(x_t) - torch.log(1 - y_t.pow(2) + 1e-6)
            return y_t, log_prob.sum(1, keepdim=True), torch.tanh(mean)

        def by_transforms(self, s):
            mean, log_std = self.net(s).chunk(2, dim=-1)
            base = D.Normal(mean, F.softplus(log_std) + 1e-3)
            squash = [D.TanhTransform(cache_size=1), D.AffineTransform(0.0, 2.0)]
            return D.Independent(D.TransformedDistribution(base, squash), 1)

    actor, q1, q2 = SquashedActor(), nn.Linear(5, 1), nn.Linear(5, 1)
    log_alpha = torch.zeros(1, requires_grad=True)
    a_opt = optim.Adam(list(actor.parameters()), lr=3e-3)
    q_opt = optim.Adam(list(q1.parameters()) + list(q2.parameters()), lr=3e-3)
    alpha_opt = optim.Adam([log_alpha], lr=3e-3)
    sac = []
    for _ in range(12):
        s = torch.randn(16, 3)
        with torch.no_grad():
            act, _, _ = actor(s)
            y = -((act - target) ** 2).sum(1, keepdim=True)
        sa = torch.cat([s, act], 1)
        q_loss = F.mse_loss(q1(sa), y) + F.mse_loss(q2(sa), y)
        q_opt.zero_grad()
        q_loss.backward()
        q_opt.step()
        pi, log_pi, _ = actor(s)
        min_q = torch.min(q1(torch.cat([s, pi], 1)), q2(torch.cat([s, pi], 1)))
        a_loss = ((log_alpha.exp().detach() * log_pi) - min_q).mean()
        a_opt.zero_grad()
        a_loss.backward()
        a_opt.step()
        alpha_loss = (-log_alpha.exp() * (log_pi.detach() + 2)).mean()
        alpha_opt.zero_grad()
        alpha_loss.backward()
        alpha_opt.step()
        sac.append((q_loss.item(), a_loss.item(), log_alpha.item()))
    dist = actor.by_transforms(torch.ones(2, 3))
    draw = dist.rsample()
    lp = dist.log_prob(draw)
    lp.sum().backward()
    return {
        "reinforce": reinforce,
        "a2c": a2c,
        "sac": sac,
        "draw": draw,
        "log_prob": lp,
        "dist": str(dist),
        "normal": repr(D.Normal(torch.zeros(2), torch.ones(2))),
        "grad": actor.net[0].bias.grad,
    }
