# expect: clip-misplaced line 12
# Value clipping sits after the update inside a helper.

import clew as torch
import clew.nn as nn


def optimise(loss, opt, params, limit=0.5):
    opt.zero_grad()
    loss.backward()
    opt.step()
    nn.utils.clip_grad_value_(params, limit)


torch.manual_seed(4)
rnn = nn.GRU(3, 12, batch_first=True)
out = nn.Linear(12, 1)
params = list(rnn.parameters()) + list(out.parameters())
opt = torch.optim.RMSprop(params, lr=3e-3)
seq = torch.randn(24, 9, 3)
want = seq.sum(dim=(1, 2)).unsqueeze(1)
for _ in range(25):
    states, _h = rnn(seq)
    optimise(nn.functional.smooth_l1_loss(out(states[:, -1]), want), opt, params)
print("ok")
