# expect: step-before-backward line 20
# compute_loss() already steps the optimizer, backward() comes only afterwards.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(12)
vocab, dim = 20, 12
embedding = nn.EmbeddingBag(vocab, dim)
classifier = nn.Linear(dim, 2)
optimizer = torch.optim.AdamW(list(embedding.parameters()) + list(classifier.parameters()), lr=0.01)
docs = torch.randint(0, vocab, (90, 6))
labels = (docs.float().mean(1) > 9.5).long()


def compute_loss(batch, target):
    logits = classifier(embedding(batch))
    loss = F.cross_entropy(logits, target)
    optimizer.step()
    return loss


def run_epoch():
    last = 0.0
    for i in range(0, 90, 30):
        optimizer.zero_grad()
        loss = compute_loss(docs[i : i + 30], labels[i : i + 30])
        loss.backward()
        last = loss.item()
    return last


for epoch in range(8):
    print("epoch", epoch, "loss", run_epoch())
