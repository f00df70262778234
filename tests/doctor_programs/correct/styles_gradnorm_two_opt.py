# expect: nothing
import itertools
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(13)


class CycleTrainer:
    """Two generators and two critics on 2-d points, in turns."""

    def __init__(self):
        net = lambda o: nn.Sequential(nn.Linear(2, 24), nn.LeakyReLU(0.2), nn.Linear(24, o))
        self.g_ab, self.g_ba, self.d_a, self.d_b = net(2), net(2), net(1), net(1)
        self.opt_g = torch.optim.Adam(itertools.chain(self.g_ab.parameters(), self.g_ba.parameters()), lr=1e-3)
        self.opt_d = torch.optim.Adam(itertools.chain(self.d_a.parameters(), self.d_b.parameters()), lr=1e-3)

    def set_requires_grad(self, nets, flag):
        for net in nets:
            for p in net.parameters():
                p.requires_grad_(flag)

    def generator_step(self, a, b):
        self.set_requires_grad([self.d_a, self.d_b], False)
        fake_b, fake_a = self.g_ab(a), self.g_ba(b)
        adv = F.mse_loss(self.d_b(fake_b), torch.ones(len(a), 1)) + F.mse_loss(self.d_a(fake_a), torch.ones(len(b), 1))
        cyc = F.l1_loss(self.g_ba(fake_b), a) + F.l1_loss(self.g_ab(fake_a), b)
        loss = adv + 5.0 * cyc
        self.opt_g.zero_grad()
        loss.backward()
        self.opt_g.step()
        return fake_a.detach(), fake_b.detach(), loss.item()

    def critic_step(self, a, b, fake_a, fake_b):
        self.set_requires_grad([self.d_a, self.d_b], True)
        loss = 0.0
        for d, real, fake in ((self.d_a, a, fake_a), (self.d_b, b, fake_b)):
            loss = loss + F.mse_loss(d(real), torch.ones(len(real), 1)) + F.mse_loss(d(fake), torch.zeros(len(fake), 1))
        self.opt_d.zero_grad()
        loss.backward()
        self.opt_d.step()


trainer = CycleTrainer()
A = torch.randn(256, 2) * 0.5
B = torch.randn(256, 2) * 0.5 + torch.tensor([2.0, 0.0])
for step in range(30):
    i, j = torch.randint(0, 256, (32,)), torch.randint(0, 256, (32,))
    fa, fb, g = trainer.generator_step(A[i], B[j])
    trainer.critic_step(A[i], B[j], fa, fb)
print(g)
