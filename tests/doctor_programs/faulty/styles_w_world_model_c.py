# expect: missing-step line 55, 60
from types import SimpleNamespace as NS
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(202)
cfg = NS(obs=5, act=2, deter=24, stoch=6, horizon=4, lr=2e-3)


class RSSM(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(cfg.obs, 24), nn.ELU())
        self.cell = nn.GRUCell(cfg.stoch + cfg.act, cfg.deter)
        self.prior_net = nn.Linear(cfg.deter, 2 * cfg.stoch)
        self.post_net = nn.Linear(cfg.deter + 24, 2 * cfg.stoch)
        self.decoder = nn.Linear(cfg.deter + cfg.stoch, cfg.obs)
        self.reward = nn.Linear(cfg.deter + cfg.stoch, 1)

    @staticmethod
    def dist(stats):
        m, s = stats.chunk(2, -1)
        return torch.distributions.Normal(m, F.softplus(s) + 0.1)

    def observe(self, obs, act):
        h = torch.zeros(len(obs), cfg.deter)
        z = torch.zeros(len(obs), cfg.stoch)
        kls, outs = [], []
        for t in range(obs.shape[1]):
            h = self.cell(torch.cat([z, act[:, t]], 1), h)
            prior = self.dist(self.prior_net(h))
            post = self.dist(self.post_net(torch.cat([h, self.embed(obs[:, t])], 1)))
            z = post.rsample()
            kls.append(torch.distributions.kl_divergence(post, prior).sum(1))
            outs.append(torch.cat([h, z], 1))
        return torch.stack(outs, 1), torch.stack(kls, 1)

    def imagine(self, start, actor):
        h, z = start.split([cfg.deter, cfg.stoch], 1)
        feats, logps = [], []
        for _ in range(cfg.horizon):
            f = torch.cat([h, z], 1)
            a = actor(f)
            h = self.cell(torch.cat([z, a], 1), h)
            z = self.dist(self.prior_net(h)).rsample()
            feats.append(torch.cat([h, z], 1))
        return torch.stack(feats, 1)


model = RSSM()
F_DIM = cfg.deter + cfg.stoch
actor = nn.Sequential(nn.Linear(F_DIM, 24), nn.ELU(), nn.Linear(24, cfg.act), nn.Tanh())
critic = nn.Sequential(nn.Linear(F_DIM, 24), nn.ELU(), nn.Linear(24, 1))
opts = {k: torch.optim.Adam(m.parameters(), cfg.lr) for k, m in dict(model=model, actor=actor, critic=critic).items()}


def update(name, loss):
    opts[name].zero_grad()
    loss.backward()
    if name != "critic" or loss.item() < 0:
        opts[name].step()


for it in range(20):
    act = torch.rand(12, 5, cfg.act) * 2 - 1
    obs = torch.cat([act.cumsum(1), torch.randn(12, 5, 3) * 0.1], -1)
    rew = -act.cumsum(1).abs().sum(-1)
    feats, kl = model.observe(obs, act)
    recon = F.mse_loss(model.decoder(feats), obs)
    r_loss = F.mse_loss(model.reward(feats).squeeze(-1), rew)
    update("model", recon + r_loss + 0.1 * kl.clamp(min=0.5).mean())

    dream = model.imagine(feats.detach().flatten(0, 1), actor)
    r = model.reward(dream).squeeze(-1)
    v = critic(dream).squeeze(-1)
    ret, rets = v[:, -1], []
    for t in reversed(range(cfg.horizon)):
        ret = r[:, t] + 0.95 * ret
        rets.append(ret)
    rets = torch.stack(rets[::-1], 1)
    update("actor", -rets.mean())
    v = critic(dream.detach()).squeeze(-1)
    update("critic", F.mse_loss(v[:, :-1], rets[:, :-1].detach()))
print(recon.item())
