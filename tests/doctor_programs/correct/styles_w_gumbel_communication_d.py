# expect: nothing
import torch
from torch import nn
import torch.nn.functional as F


class Sender(nn.Module):
    def __init__(self, n, v):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n, 24), nn.ReLU(), nn.Linear(24, v))

    def forward(self, x, tau):
        logits = self.net(x)
        if self.training:
            return F.gumbel_softmax(logits, tau=tau, hard=True)
        return F.one_hot(logits.argmax(-1), logits.shape[-1]).float()


class Receiver(nn.Module):
    def __init__(self, v, n):
        super().__init__()
        self.book = nn.Linear(v, 24, bias=False)
        self.out = nn.Linear(24, n)

    def forward(self, m):
        return self.out(torch.relu(self.book(m)))


class Game:
    def __init__(self, n=6, v=8):
        self.n, self.sender, self.receiver = n, Sender(n, v), Receiver(v, n)
        self.opt = torch.optim.Adam([*self.sender.parameters(), *self.receiver.parameters()], lr=5e-3)

    def round(self, tau, size=48):
        y = torch.randint(0, self.n, (size,))
        guess = self.receiver(self.sender(F.one_hot(y, self.n).float(), tau))
        loss = F.cross_entropy(guess, y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()

    @torch.no_grad()
    def accuracy(self):
        self.sender.eval()
        y = torch.arange(self.n)
        hit = self.receiver(self.sender(F.one_hot(y, self.n).float(), 1.0)).argmax(-1) == y
        self.sender.train()
        return hit.float().mean().item()


torch.manual_seed(1313)
game = Game()
for r in range(40):
    game.round(max(0.5, 2 * 0.97 ** r))
print(game.accuracy())
