# expect: nothing
# Clipping is active at every step.

import clew as torch
from clew import nn

torch.manual_seed(0)
rnn = nn.RNN(3, 16, batch_first=True)
out = nn.Linear(16, 1)
ps = [*rnn.parameters(), *out.parameters()]
opt = torch.optim.SGD(ps, lr=0.1)
for i in range(30):
    x = torch.randn(8, 20, 3)
    y = x[:, :, 0].sum(1, keepdim=True)
    loss = nn.functional.mse_loss(out(rnn(x)[0][:, -1]), y)
    opt.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(ps, 0.05)
    opt.step()
print(loss.item())
