"""DQN's loss with a target network, REINFORCE on a bandit, and returns by discounting."""


def main(torch):
    F = torch.nn.functional
    torch.manual_seed(77)
    B, S, A = 16, 4, 3
    online = {"w1": torch.randn(S, 16) * 0.3, "w2": torch.randn(16, A) * 0.3}
    for p in online.values():
        p.requires_grad_()
    target = {k: v.clone().detach() for k, v in online.items()}

    def q(net, s):
        return torch.relu(s @ net["w1"]) @ net["w2"]

    td = []
    for step in range(20):
        s, s2 = torch.randn(B, S), torch.randn(B, S)
        a = torch.randint(0, A, (B, 1))
        r = torch.rand(B)
        done = torch.bernoulli(torch.full((B,), 0.1))
        qsa = q(online, s).gather(1, a).squeeze(1)
        with torch.no_grad():
            best = q(online, s2).argmax(dim=1, keepdim=True)
            y = r + 0.99 * (1 - done) * q(target, s2).gather(1, best).squeeze(1)
        loss = F.smooth_l1_loss(qsa, y, beta=0.5)
        loss.backward()
        for p in online.values():
            p.grad.data.clamp_(-1, 1)
            p.data -= 0.1 * p.grad
            p.grad.zero_()
        for k in target:
            target[k].mul_(0.9).add_(online[k].data, alpha=0.1)
        td.append(loss.item())

    rewards = torch.tensor([0.1, 0.9, 0.3])
    logits = torch.zeros(3, requires_grad=True)
    baseline, pulls, entropies = 0.0, [], []
    for _ in range(25):
        logp = F.log_softmax(logits, dim=0)
        action = torch.multinomial(logp.exp(), 1).item()
        reward = (torch.rand(()) < rewards[action]).float().item()
        baseline = 0.9 * baseline + 0.1 * reward
        entropy = -(logp.exp() * logp).sum()
        (-(reward - baseline) * logp[action] - 0.01 * entropy).backward()
        with torch.no_grad():
            logits -= 0.5 * logits.grad
        logits.grad = None
        pulls.append(action)
        entropies.append(entropy.item())

    trace = torch.rand(10)
    returns = torch.zeros_like(trace)
    running = torch.zeros(())
    for t in reversed(range(10)):
        running = trace[t] + 0.9 * running
        returns[t] = running
    returns = (returns - returns.mean()) / (returns.std() + torch.finfo(torch.float32).eps)
    old = torch.randn(10)
    new = (old + 0.1 * torch.randn(10)).requires_grad_()
    ratio = (new - old).exp()
    ppo = -torch.min(ratio * returns, ratio.clamp(0.8, 1.2) * returns).mean()
    ppo.backward()
    return {
        "td": td,
        "pulls": pulls,
        "entropies": entropies,
        "logits": logits,
        "returns": returns,
        "ppo": ppo,
        "ppo_grad": new.grad,
        "w1": target["w1"],
    }
