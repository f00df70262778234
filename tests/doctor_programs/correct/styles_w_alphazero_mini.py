# expect: nothing
import copy
import math
import random
import torch
import torch.nn as nn
import torch.nn.functional as F


class Nim:
    """Take 1 to 3 stones; who takes the last one wins."""

    def __init__(self, stones=9, player=1):
        self.stones, self.player = stones, player

    def moves(self):
        return [m for m in (1, 2, 3) if m <= self.stones]

    def play(self, m):
        return Nim(self.stones - m, -self.player)

    def encode(self):
        x = torch.zeros(10)
        x[self.stones] = 1.0
        return x


class PVNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(10, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.1))
        self.pi = nn.Linear(32, 3)
        self.v = nn.Linear(32, 1)

    def forward(self, x):
        h = self.trunk(x)
        return F.log_softmax(self.pi(h), 1), torch.tanh(self.v(h)).squeeze(1)


def search(net, game, sims=12):
    net.eval()
    visits, value = {m: 1 for m in game.moves()}, {m: 0.0 for m in game.moves()}
    with torch.no_grad():
        logp, _ = net(game.encode()[None])
        prior = logp[0].exp()
        for _ in range(sims):
            n = sum(visits.values())
            best = max(visits, key=lambda m: value[m] / visits[m] + prior[m - 1].item() * math.sqrt(n) / (1 + visits[m]))
            nxt = game.play(best)
            if nxt.stones == 0:
                v = 1.0
            else:
                v = -net(nxt.encode()[None])[1].item()
            visits[best] += 1
            value[best] += v
    p = torch.zeros(3)
    for m, c in visits.items():
        p[m - 1] = c
    return p / p.sum()


def self_play(net):
    game, trace = Nim(random.randint(5, 9)), []
    while game.stones:
        p = search(net, game)
        trace.append((game.encode(), p, game.player))
        game = game.play(int(torch.multinomial(p, 1)) + 1)
    return [(x, p, 1.0 if player == -game.player else -1.0) for x, p, player in trace]


random.seed(0)
torch.manual_seed(0)
net = PVNet()
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
best, best_loss = copy.deepcopy(net.state_dict()), float("inf")
replay = []
for generation in range(8):
    for _ in range(6):
        replay.extend(self_play(net))
    net.train()
    for _ in range(6):
        x, p, z = zip(*random.sample(replay, min(48, len(replay))))
        x, p, z = torch.stack(x), torch.stack(p), torch.tensor(z)
        logp, v = net(x)
        loss = F.mse_loss(v, z) - (p * logp).sum(1).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    if loss.item() < best_loss:
        best, best_loss = copy.deepcopy(net.state_dict()), loss.item()
    print(generation, f"{loss.item():.3f}")
net.load_state_dict(best)
