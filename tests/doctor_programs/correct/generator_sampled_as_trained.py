# expect: nothing
# A generator whose BatchNorm makes samples of fixed noise just as it does in training.

import torch
from torch import nn

torch.manual_seed(12)
generator = nn.Sequential(nn.Linear(4, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Linear(24, 2))
judge = nn.Sequential(nn.Linear(2, 24), nn.LeakyReLU(0.2), nn.Linear(24, 1))
by_generator = torch.optim.Adam(generator.parameters(), lr=2e-3, betas=(0.5, 0.999))
by_judge = torch.optim.Adam(judge.parameters(), lr=2e-3, betas=(0.5, 0.999))
loss_fn = nn.BCEWithLogitsLoss()
centre = torch.tensor([1.0, -1.0])
noise = torch.randn(64, 4)
for step in range(30):
    real = centre + 0.2 * torch.randn(32, 2)
    fake = generator(torch.randn(32, 4))
    by_judge.zero_grad()
    loss = loss_fn(judge(real), torch.ones(32, 1)) + loss_fn(
        judge(fake.detach()), torch.zeros(32, 1)
    )
    loss.backward()
    by_judge.step()
    by_generator.zero_grad()
    loss_fn(judge(fake), torch.ones(32, 1)).backward()
    by_generator.step()
    if step % 10 == 9:
        with torch.no_grad():
            print(step, (generator(noise) - centre).abs().mean().item())
