"""Embeddings: skip-gram with negative sampling, CBOW with EmbeddingBag, GloVe-like weights."""

from collections import Counter

CORPUS = """we are about to study the idea of a computational process computational processes are
abstract beings that inhabit computers as they evolve processes manipulate other abstract things
called data the evolution of a process is directed by a pattern of rules called a program""".split()


def main(torch):
    nn, F = torch.nn, torch.nn.functional
    torch.manual_seed(16)
    counts = Counter(CORPUS)
    vocab = [w for w, _ in sorted(counts.items(), key=lambda kv: (-kv[1], kv[0]))]
    index = {w: i for i, w in enumerate(vocab)}
    tokens = [index[w] for w in CORPUS]
    V, D, window = len(vocab), 10, 2

    class SkipGram(nn.Module):
        def __init__(self):
            super().__init__()
            self.center = nn.Embedding(V, D)
            self.context = nn.Embedding(V, D)
            self.center.weight.data.uniform_(-0.5 / D, 0.5 / D)
            self.context.weight.data.zero_()

        def forward(self, c, pos, neg):
            v = self.center(c)
            pos_score = torch.sum(v * self.context(pos), dim=1)
            neg_score = torch.bmm(self.context(neg), v.unsqueeze(2)).squeeze(2)
            return -(F.logsigmoid(pos_score) + F.logsigmoid(-neg_score).sum(1)).mean()

    pairs = []
    for i, center in enumerate(tokens):
        for j in range(max(0, i - window), min(len(tokens), i + window + 1)):
            if i != j:
                pairs.append((center, tokens[j]))
    noise = torch.tensor([counts[w] for w in vocab]).float().pow(0.75)
    loader = torch.utils.data.DataLoader(pairs, batch_size=32, shuffle=True, drop_last=True)
    model = SkipGram()
    opt = torch.optim.Adagrad(model.parameters(), lr=0.5)
    skipgram = []
    for epoch in range(3):
        for c, ctx in loader:
            neg = torch.multinomial(noise, len(c) * 4, replacement=True).view(len(c), 4)
            opt.zero_grad()
            loss = model(c, ctx, neg)
            loss.backward()
            opt.step()
            skipgram.append(loss.item())
    E = F.normalize(model.center.weight.data, dim=1)
    similar = (E @ E[index["process"]]).topk(4)

    class CBOW(nn.Module):
        def __init__(self):
            super().__init__()
            self.bag = nn.EmbeddingBag(V, D, mode="mean", max_norm=1.5)
            self.out = nn.Linear(D, V)

        def forward(self, flat, offsets):
            return self.out(self.bag(flat, offsets))

    cbow = CBOW()
    opt = torch.optim.SGD(cbow.parameters(), lr=1.0, momentum=0.5)
    sched = torch.optim.lr_scheduler.StepLR(opt, 2, gamma=0.5)
    curve = []
    for epoch in range(4):
        total = 0.0
        for start in range(2, len(tokens) - 2, 8):
            at = range(start, min(start + 8, len(tokens) - 2))
            contexts = [[tokens[i + d] for d in (-2, -1, 1, 2)] for i in at]
            flat = torch.tensor([t for c in contexts for t in c])
            offsets = torch.arange(0, len(flat), 4)
            loss = F.cross_entropy(cbow(flat, offsets), torch.tensor([tokens[i] for i in at]))
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        sched.step()
        curve.append(total)

    co = torch.zeros(V, V)
    for a, b in pairs:
        co[a, b] += 1.0
    rows, cols = co.nonzero(as_tuple=True)
    x_ij = co[rows, cols]
    W, b = nn.Embedding(V, D), nn.Embedding(V, 1)
    opt = torch.optim.Adam(
        [{"params": W.parameters(), "lr": 0.05}, {"params": b.parameters()}], lr=0.01
    )
    glove = []
    for _ in range(8):
        weight = (x_ij / 4).clamp(max=1).pow(0.75)
        guess = (W(rows) * W(cols)).sum(-1) + b(rows).squeeze() + b(cols).squeeze()
        loss = (weight * (guess - x_ij.log1p()) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        glove.append(loss.item())
    pretrained = nn.Embedding.from_pretrained(E, freeze=True, padding_idx=0)
    return {
        "skipgram": skipgram,
        "similar": [similar.values, [vocab[i] for i in similar.indices.tolist()]],
        "cbow": curve,
        "norms": cbow.bag.weight.norm(dim=1).max().item() <= 1.5 + 1e-4,
        "glove": glove,
        "pretrained": [pretrained(torch.tensor([0, 3])), pretrained.weight.requires_grad],
        "texts": [str(model), str(cbow), str(pretrained)],
    }
