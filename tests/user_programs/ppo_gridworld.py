"""PPO on a hand-written corridor: GAE, minibatches, clipped losses, orthogonal init."""

import numpy as np


class Corridor:
    """Walk right to the goal; the observation is a one-hot place and the remaining time."""

    def __init__(self, length=6, limit=12, seed=0):
        self.length, self.limit = length, limit
        self.rng = np.random.RandomState(seed)

    def reset(self):
        self.at, self.t = int(self.rng.randint(0, self.length - 1)), 0
        return self.observe()

    def observe(self):
        obs = np.zeros(self.length + 1, dtype=np.float32)
        obs[self.at] = 1.0
        obs[-1] = self.t / self.limit
        return obs

    def step(self, action):
        self.at = min(max(self.at + (1 if action == 1 else -1), 0), self.length - 1)
        self.t += 1
        won = self.at == self.length - 1
        return self.observe(), 1.0 if won else -0.05, won or self.t >= self.limit, {}


def main(torch):
    nn, optim = torch.nn, torch.optim
    Categorical = torch.distributions.categorical.Categorical
    np.random.seed(1)
    torch.manual_seed(1)

    def layer_init(layer, std=np.sqrt(2), bias_const=0.0):
        torch.nn.init.orthogonal_(layer.weight, std)
        torch.nn.init.constant_(layer.bias, bias_const)
        return layer

    class Agent(nn.Module):
        def __init__(self, obs_dim, n_actions):
            super().__init__()
            self.critic = nn.Sequential(
                layer_init(nn.Linear(obs_dim, 16)), nn.Tanh(),
                layer_init(nn.Linear(16, 1), std=1.0),
            )  # fmt: skip
            self.actor = nn.Sequential(
                layer_init(nn.Linear(obs_dim, 16)), nn.Tanh(),
                layer_init(nn.Linear(16, n_actions), std=0.01),
            )  # fmt: skip

        def get_value(self, x):
            return self.critic(x)

        def get_action_and_value(self, x, action=None):
            probs = Categorical(logits=self.actor(x))
            if action is None:
                action = probs.sample()
            return action, probs.log_prob(action), probs.entropy(), self.critic(x)

    env = Corridor()
    num_steps, num_updates, epochs, minibatch = 32, 4, 2, 16
    gamma, gae_lambda, clip_coef, ent_coef, vf_coef = 0.99, 0.95, 0.2, 0.01, 0.5
    agent = Agent(7, 2)
    optimizer = optim.Adam(agent.parameters(), lr=5e-3, eps=1e-5)
    obs = torch.zeros((num_steps, 7))
    actions = torch.zeros((num_steps,))
    logprobs, rewards = torch.zeros(num_steps), torch.zeros(num_steps)
    dones, values = torch.zeros(num_steps), torch.zeros(num_steps)
    next_obs, next_done = torch.Tensor(env.reset()), torch.zeros(1)
    log, returns_seen = [], []
    episode = 0.0
    for update in range(1, num_updates + 1):
        frac = 1.0 - (update - 1.0) / num_updates
        optimizer.param_groups[0]["lr"] = frac * 5e-3
        for step in range(num_steps):
            obs[step], dones[step] = next_obs, next_done
            with torch.no_grad():
                action, logprob, _, value = agent.get_action_and_value(next_obs)
                values[step] = value.flatten()
            actions[step], logprobs[step] = action, logprob
            o, reward, done, info = env.step(action.cpu().numpy())
            rewards[step] = torch.tensor(reward).view(-1)
            episode += reward
            if done:
                returns_seen.append(episode)
                episode, o = 0.0, env.reset()
            next_obs, next_done = torch.Tensor(o), torch.Tensor([done])
        with torch.no_grad():
            next_value = agent.get_value(next_obs).reshape(1, -1)
            advantages = torch.zeros_like(rewards)
            lastgaelam = 0
            for t in reversed(range(num_steps)):
                if t == num_steps - 1:
                    nonterminal, nextvalues = 1.0 - next_done, next_value
                else:
                    nonterminal, nextvalues = 1.0 - dones[t + 1], values[t + 1]
                delta = rewards[t] + gamma * nextvalues * nonterminal - values[t]
                advantages[t] = lastgaelam = delta + gamma * gae_lambda * nonterminal * lastgaelam
            returns = advantages + values
        b_inds = np.arange(num_steps)
        clipfracs = []
        for epoch in range(epochs):
            np.random.shuffle(b_inds)
            for start in range(0, num_steps, minibatch):
                mb_inds = b_inds[start : start + minibatch]
                _, newlogprob, entropy, newvalue = agent.get_action_and_value(
                    obs[mb_inds], actions.long()[mb_inds]
                )
                logratio = newlogprob - logprobs[mb_inds]
                ratio = logratio.exp()
                with torch.no_grad():
                    approx_kl = ((ratio - 1) - logratio).mean()
                    clipfracs += [((ratio - 1.0).abs() > clip_coef).float().mean().item()]
                mb_adv = advantages[mb_inds]
                mb_adv = (mb_adv - mb_adv.mean()) / (mb_adv.std() + 1e-8)
                pg_loss1 = -mb_adv * ratio
                pg_loss2 = -mb_adv * torch.clamp(ratio, 1 - clip_coef, 1 + clip_coef)
                pg_loss = torch.max(pg_loss1, pg_loss2).mean()
                newvalue = newvalue.view(-1)
                v_loss_unclipped = (newvalue - returns[mb_inds]) ** 2
                v_clipped = values[mb_inds] + torch.clamp(
                    newvalue - values[mb_inds], -clip_coef, clip_coef
                )
                v_loss_clipped = (v_clipped - returns[mb_inds]) ** 2
                v_loss = 0.5 * torch.max(v_loss_unclipped, v_loss_clipped).mean()
                loss = pg_loss - ent_coef * entropy.mean() + v_loss * vf_coef
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                optimizer.step()
        y_pred, y_true = values.cpu().numpy(), returns.cpu().numpy()
        explained = 1 - np.var(y_true - y_pred) / np.var(y_true)
        log.append([v_loss.item(), pg_loss.item(), loss.item(), float(explained), approx_kl.item()])
    return {"log": log, "returns": returns_seen, "actions": actions, "clip": clipfracs}
