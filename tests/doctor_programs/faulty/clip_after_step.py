# expect: clip-misplaced line 34
# The gradient norm is clipped after the optimizer has already used the gradients.

import torch
from torch import nn

torch.manual_seed(22)


class CharRNN(nn.Module):
    def __init__(self, vocab=12, hidden=24):
        super().__init__()
        self.embed = nn.Embedding(vocab, 8)
        self.rnn = nn.RNN(8, hidden, batch_first=True)
        self.out = nn.Linear(hidden, vocab)

    def forward(self, idx):
        h, _ = self.rnn(self.embed(idx))
        return self.out(h)


model = CharRNN()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
stream = (torch.arange(600) ** 2).remainder(12)

for step in range(20):
    start = torch.randint(0, 560, (8,)).tolist()
    chunk = torch.stack([stream[s : s + 17] for s in start])
    logits = model(chunk[:, :-1])
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), chunk[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    if step % 5 == 0:
        print("step", step, "loss", loss.item())
