# expect: nothing
import torch
import torch.nn.functional as F


def make_agent(obs=4, acts=3, hidden=32, lr=1e-3, gamma=0.9, tau=0.05):
    def mlp(o):
        return torch.nn.Sequential(torch.nn.Linear(obs, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, o))

    pi, q1, q2 = mlp(acts), mlp(acts), mlp(acts)
    t1, t2 = mlp(acts), mlp(acts)
    t1.load_state_dict(q1.state_dict()); t2.load_state_dict(q2.state_dict())
    log_alpha = torch.tensor(-1.0, requires_grad=True)
    pi_opt = torch.optim.Adam(pi.parameters(), lr)
    q_opt = torch.optim.Adam([*q1.parameters(), *q2.parameters()], lr)
    a_opt = torch.optim.Adam([log_alpha], lr)
    goal = 0.6 * torch.log(torch.tensor(float(acts)))

    def policy(s):
        logp = pi(s).log_softmax(-1)
        return logp.exp(), logp

    def learn(s, a, r, s2):
        alpha = log_alpha.exp().detach()
        p2, logp2 = policy(s2)
        v2 = (p2 * (torch.minimum(t1(s2), t2(s2)) - alpha * logp2)).sum(-1)
        y = (r + gamma * v2).detach()
        lq = sum(F.mse_loss(q(s).gather(1, a[:, None]).squeeze(1), y) for q in (q1, q2))
        q_opt.zero_grad(); lq.backward(); q_opt.step()

        p, logp = policy(s)
        q = torch.minimum(q1(s), q2(s)).detach()
        lp = (p * (alpha * logp - q)).sum(-1).mean()
        pi_opt.zero_grad(); lp.backward(); pi_opt.step()

        entropy = -(p * logp).sum(-1).detach().mean()
        la = log_alpha * (entropy - goal)
        a_opt.zero_grad(); la.backward(); a_opt.step()
        with torch.no_grad():
            for live, slow in ((q1, t1), (q2, t2)):
                for x, z in zip(live.parameters(), slow.parameters()):
                    z.mul_(1 - tau).add_(tau * x)
        return lq.item(), lp.item()

    return policy, learn


torch.manual_seed(5)
policy, learn = make_agent()
W = torch.randn(4, 3)
s = torch.randn(64, 4)
for step in range(60):
    with torch.no_grad():
        a = torch.multinomial(policy(s)[0], 1).squeeze(1)
    r = (s @ W).gather(1, a[:, None]).squeeze(1)
    s2 = torch.randn(64, 4)
    out = learn(s, a, r, s2)
    s = s2
print([round(v, 3) for v in out])
