# expect: nothing

import clew as torch
import clew.nn as nn
import copy


class QNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 32), nn.ReLU())
        self.adv = nn.Linear(32, 3)
        self.val = nn.Linear(32, 1)

    def forward(self, s):
        h = self.body(s)
        a = self.adv(h)
        return self.val(h) + a - a.mean(1, keepdim=True)


torch.manual_seed(0)
online = QNet()
target = copy.deepcopy(online).eval()
opt = torch.optim.Adam(online.parameters(), lr=1e-3)
S = torch.randn(400, 4)
A = torch.randint(0, 3, (400,))
R = (S[:, :3].argmax(1) == A).float()
S2 = torch.randn(400, 4)
for it in range(120):
    i = torch.randint(0, 400, (32,))
    with torch.no_grad():
        best = online(S2[i]).argmax(1, keepdim=True)
        y = R[i] + 0.5 * target(S2[i]).gather(1, best).squeeze(1)
    qa = online(S[i]).gather(1, A[i].unsqueeze(1)).squeeze(1)
    loss = nn.functional.mse_loss(qa, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for pt, po in zip(target.parameters(), online.parameters()):
            pt.mul_(0.99).add_(0.01 * po)
print(loss.item())
