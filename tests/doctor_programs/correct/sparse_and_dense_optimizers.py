# expect: nothing
# Two optimizers for two kinds of parameters, both stepped on one backward.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(267)
users, items = nn.Embedding(30, 6), nn.Embedding(40, 6)
mlp = nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 1))
table_opt = torch.optim.Adagrad([*users.parameters(), *items.parameters()], lr=0.1)
mlp_opt = torch.optim.Adam(mlp.parameters(), lr=5e-3)
u, i = torch.randint(0, 30, (200,)), torch.randint(0, 40, (200,))
rating = ((u * 7 + i * 3).remainder(5).float() - 2).unsqueeze(1)
losses = []
for _ in range(15):
    for start in range(0, 200, 50):
        part = slice(start, start + 50)
        score = mlp(torch.cat([users(u[part]), items(i[part])], dim=1))
        loss = F.mse_loss(score, rating[part])
        for optimizer in (table_opt, mlp_opt):
            optimizer.zero_grad()
        loss.backward()
        for optimizer in (table_opt, mlp_opt):
            optimizer.step()
        losses.append(loss.item())
print(losses[0], losses[-1])
