# expect: param-not-in-optimizer line 19, 28
import torch
import torch.nn as nn

torch.manual_seed(18)
U, I, N = 60, 50, 1500
pu, qi = torch.randn(U, 4), torch.randn(I, 4)
users, items = torch.randint(0, U, (N,)), torch.randint(0, I, (N,))
ratings = (pu[users] * qi[items]).sum(1) + 0.1 * torch.randn(N)
order = torch.randperm(N)
tr, te = order[:1200], order[1200:]


class MF(nn.Module):
    def __init__(self, k=8):
        super().__init__()
        self.user, self.item = nn.Embedding(U, k), nn.Embedding(I, k)
        self.bu = nn.Embedding(U, 1)
        self.bias = torch.zeros(1, requires_grad=True)
        nn.init.normal_(self.user.weight, std=0.1)
        nn.init.normal_(self.item.weight, std=0.1)

    def forward(self, u, i):
        return (self.user(u) * self.item(i)).sum(1) + self.bu(u).squeeze(1) + self.bias


model = MF()
opt = torch.optim.Adam(model.parameters(), lr=2e-2, weight_decay=1e-5)
for epoch in range(8):
    perm = tr[torch.randperm(len(tr))]
    for k in range(0, len(perm), 100):
        j = perm[k : k + 100]
        pred = model(users[j], items[j])
        target = ratings[j]
        loss = nn.functional.mse_loss(pred, target)
        opt.zero_grad()
        loss.backward()
        opt.step()
with torch.no_grad():
    rmse = (model(users[te], items[te]) - ratings[te]).pow(2).mean().sqrt()
print(loss.item(), rmse.item())
