# expect: missing-requires-grad line 47, 48
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(303)
V = 20


class LM(nn.Module):
    def __init__(self, d=24):
        super().__init__()
        self.emb = nn.Embedding(V, d)
        self.rnn = nn.LSTM(d, d, batch_first=True)
        self.head = nn.Linear(d, V)

    def forward(self, x):
        return self.head(self.rnn(self.emb(x))[0])


def sequence_logp(model, ids):
    logits = model(ids[:, :-1])
    return F.log_softmax(logits, -1).gather(-1, ids[:, 1:, None]).squeeze(-1).sum(1)


def pairs(n):
    first = torch.randint(0, V, (n, 1))
    good = (first + torch.arange(7)) % V
    bad = torch.randint(0, V, (n, 7))
    bad[:, 0] = good[:, 0]
    return good, bad


policy = LM()
pre = torch.optim.Adam(policy.parameters(), 5e-3)
for _ in range(15):
    good, bad = pairs(24)
    ids = torch.cat([good, bad])
    loss = F.cross_entropy(policy(ids[:, :-1]).transpose(1, 2), ids[:, 1:])
    pre.zero_grad()
    loss.backward()
    pre.step()

reference = copy.deepcopy(policy).requires_grad_(False).eval()
for name, p in policy.named_parameters():
    p.requires_grad_(name.startswith("lm_head"))
opt = torch.optim.AdamW(policy.head.parameters(), lr=1e-3)
for it in range(25):
    good, bad = pairs(24)
    with torch.no_grad():
        ref_good, ref_bad = sequence_logp(reference, good), sequence_logp(reference, bad)
    margin = (sequence_logp(policy, good) - ref_good) - (sequence_logp(policy, bad) - ref_bad)
    loss = -F.logsigmoid(0.1 * margin).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(margin.mean().item())
