# expect: train-eval-mode line 23
# generate() switches to eval to draw a sample during training and never back.

import torch
import torch.nn.functional as F
from torch import nn


class CharLM(nn.Module):
    def __init__(self, vocab=11):
        super().__init__()
        self.embed = nn.Embedding(vocab, 16)
        self.drop = nn.Dropout(0.3)
        self.rnn = nn.GRU(16, 32, batch_first=True)
        self.out = nn.Linear(32, vocab)

    def forward(self, idx, state=None):
        h, state = self.rnn(self.drop(self.embed(idx)), state)
        return self.out(self.drop(h)), state

    @torch.no_grad()
    def generate(self, n):
        self.eval()
        idx, state, result = torch.zeros(1, 1, dtype=torch.long), None, []
        for _ in range(n):
            logits, state = self(idx, state)
            idx = logits[:, -1].argmax(dim=1, keepdim=True)
            result.append(idx.item())
        return result


torch.manual_seed(918)
model = CharLM()
model.train()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
stream = (torch.arange(500) * 4).remainder(11)
for step in range(24):
    start = torch.randint(0, 480, (16,)).tolist()
    chunk = torch.stack([stream[s : s + 12] for s in start])
    logits, _ = model(chunk[:, :-1])
    loss = F.cross_entropy(logits.reshape(-1, 11), chunk[:, 1:].reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 6 == 0:
        print(step, loss.item(), model.generate(5))
