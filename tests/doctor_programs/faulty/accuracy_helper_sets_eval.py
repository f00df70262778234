# expect: train-eval-mode line 21
# The accuracy helper called inside the loop leaves the model with dropout off.

import torch
import torch.nn.functional as F
from torch import nn


class TextModel(nn.Module):
    def __init__(self, vocab=40, dim=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.encoder = nn.TransformerEncoderLayer(dim, 2, 32, dropout=0.2, batch_first=True)
        self.head = nn.Linear(dim, 2)

    def forward(self, tokens):
        return self.head(self.encoder(self.embed(tokens)).mean(dim=1))


def accuracy(model, tokens, labels):
    model.eval()
    with torch.no_grad():
        hits = (model(tokens).argmax(dim=1) == labels).sum().item()
    return hits / len(labels)


def fit(model, tokens, labels, steps=24, every=6):
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    model.train()
    for step in range(steps):
        pick = torch.randint(0, 80, (20,))
        loss = F.cross_entropy(model(tokens[pick]), labels[pick])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % every == 0:
            held_out = accuracy(model, tokens[80:], labels[80:])
            print(f"step {step} loss {loss.item():.3f} held-out {held_out:.2f}")


torch.manual_seed(143)
tokens = torch.randint(0, 40, (120, 8))
labels = (tokens < 20).float().mean(1).gt(0.5).long()
fit(TextModel(), tokens, labels)
