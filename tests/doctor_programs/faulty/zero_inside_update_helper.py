# expect: zero-grad-before-step line 10
# The helper that applies the update clears the model's gradients first.

import torch
import torch.nn.functional as F
from torch import nn


def apply_update(model, optimizer, max_norm=1.0):
    model.zero_grad(set_to_none=False)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()


def train_step(model, optimizer, tokens):
    logits = model(tokens[:, :-1])
    loss = F.cross_entropy(logits.reshape(-1, logits.size(-1)), tokens[:, 1:].reshape(-1))
    loss.backward()
    apply_update(model, optimizer)
    return loss.item()


class Bigram(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.mix = nn.Linear(dim, dim)
        self.out = nn.Linear(dim, vocab)

    def forward(self, idx):
        return self.out(torch.relu(self.mix(self.embed(idx))))


torch.manual_seed(8)
text = torch.arange(400).remainder(11)
model = Bigram(11, 16)
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
for step in range(20):
    start = torch.randint(0, 380, (16,))
    tokens = torch.stack([text[s : s + 12] for s in start])
    loss = train_step(model, optimizer, tokens)
    if step % 5 == 0:
        print("step", step, "loss", loss)
