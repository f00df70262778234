# expect: param-not-in-optimizer line 38, 39
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(5)


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.stem = nn.Linear(20, width)
        self.mid = nn.Linear(width, width)
        self.head = nn.Linear(width, 4)

    def forward(self, x):
        h1 = F.relu(self.stem(x))
        h2 = F.relu(self.mid(h1))
        return self.head(h2), h2


w = torch.randn(20, 4)
X = torch.randn(320, 20)
Y = (X @ w).argmax(1)
teacher = Net(96)
opt_t = torch.optim.Adam(teacher.parameters(), lr=3e-3)
for e in range(3):
    for i in range(0, 320, 64):
        out, _ = teacher(X[i:i + 64])
        loss = F.cross_entropy(out, Y[i:i + 64])
        opt_t.zero_grad()
        loss.backward()
        opt_t.step()

teacher.eval()
for p in teacher.parameters():
    p.requires_grad_(False)
student, regressor = Net(24), nn.Linear(24, 96)
optimizer = torch.optim.Adam(student.parameters(), lr=3e-3)
T, alpha = 4.0, 0.7
for epoch in range(4):
    for i in range(0, 320, 64):
        xb, yb = X[i:i + 64], Y[i:i + 64]
        with torch.no_grad():
            t_out, t_hint = teacher(xb)
        s_out, s_hint = student(xb)
        soft = F.kl_div(F.log_softmax(s_out / T, 1), F.softmax(t_out / T, 1), reduction="batchmean") * T * T
        hard = F.cross_entropy(s_out, yb)
        hint = F.mse_loss(regressor(s_hint), t_hint)
        loss = alpha * soft + (1 - alpha) * hard + 0.1 * hint
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(loss.item())
