# expect: nan-origin line 39
import torch
import torch.nn as nn

torch.manual_seed(12)


class CRF(nn.Module):
    def __init__(self, tags):
        super().__init__()
        self.trans = nn.Parameter(torch.randn(tags, tags) * 0.1)

    def log_z(self, emit):
        alpha = emit[:, 0]
        for t in range(1, emit.size(1)):
            alpha = torch.logsumexp(alpha.unsqueeze(2) + self.trans, dim=1) + emit[:, t]
        return torch.logsumexp(alpha, dim=1)

    def score(self, emit, tags):
        s = emit.gather(2, tags.unsqueeze(2)).squeeze(2).sum(1)
        return s + self.trans[tags[:, :-1], tags[:, 1:]].sum(1)

    def forward(self, emit, tags):
        return (self.log_z(emit) - self.score(emit, tags)).mean()


class Tagger(nn.Module):
    def __init__(self, vocab=20, tags=4, d=16):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.rnn = nn.GRU(d, d, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(2 * d, tags)
        self.crf = CRF(tags)

    def forward(self, ids, tags):
        h, _ = self.rnn(self.emb(ids))
        h = torch.tanh(h)
        emit = self.fc(h)
        emit = torch.log(emit)
        return self.crf(emit, tags)


ids = torch.randint(0, 20, (128, 7))
tags = ids % 4
model = Tagger()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(4):
    for i in torch.randperm(128).split(32):
        opt.zero_grad()
        loss = model(ids[i], tags[i])
        loss.backward()
        opt.step()
print(loss.item())
