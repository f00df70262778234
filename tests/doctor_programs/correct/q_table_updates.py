# expect: nothing
# Tabular Q-learning in a tensor, changed in place; no autograd is involved.

import random

import torch

random.seed(708)
q = torch.zeros(8, 2)
lengths = []
for episode in range(60):
    state, steps = 0, 0
    while state != 7 and steps < 60:
        explore = random.random() < max(0.05, 0.5 - 0.02 * episode)
        action = (
            random.randrange(2) if explore or q[state, 0] == q[state, 1] else int(q[state].argmax())
        )
        nxt = min(7, state + 1) if action == 1 else max(0, state - 1)
        reward = 1.0 if nxt == 7 else -0.01
        q[state, action] += 0.5 * (reward + 0.9 * q[nxt].max() * (nxt != 7) - q[state, action])
        state, steps = nxt, steps + 1
    lengths.append(steps)
print("steps", sum(lengths[:5]) / 5, sum(lengths[-5:]) / 5)
