# expect: nothing
# A hidden Markov model in log space, some transitions are forbidden by -inf.

import torch
from torch import nn

torch.manual_seed(517)
states, symbols = 3, 4
start = nn.Parameter(torch.randn(states))
transition = nn.Parameter(torch.randn(states, states))
emission = nn.Parameter(torch.randn(states, symbols))
forbidden = torch.tensor([[0, 0, 1], [0, 0, 0], [1, 0, 0]], dtype=torch.bool)
optimizer = torch.optim.Adam([start, transition, emission], lr=5e-2)
sequence = torch.tensor([0, 1, 2, 1] * 5)


def log_likelihood():
    log_start = torch.log_softmax(start, 0)
    log_t = torch.log_softmax(transition.masked_fill(forbidden, float("-inf")), dim=1)
    log_e = torch.log_softmax(emission, dim=1)
    alpha = log_start + log_e[:, sequence[0]]
    for symbol in sequence[1:]:
        alpha = torch.logsumexp(alpha.unsqueeze(1) + log_t, dim=0) + log_e[:, symbol]
    return torch.logsumexp(alpha, dim=0)


losses = []
for _ in range(30):
    loss = -log_likelihood() / len(sequence)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
