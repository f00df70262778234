"""Skip-gram with negative sampling, sparse updates by index_add_, nearest neighbours, PMI."""

from collections import Counter

TEXT = """the king rules the land and the queen rules the land the king and queen sit
a dog chases a cat and a cat chases a mouse the dog sits and the cat sits""".split()


def main(torch):
    F = torch.nn.functional
    torch.manual_seed(202)
    counts = Counter(TEXT)
    vocab = [w for w, _ in sorted(counts.items(), key=lambda p: (-p[1], p[0]))]
    index = {w: i for i, w in enumerate(vocab)}
    ids = torch.as_tensor([index[w] for w in TEXT])
    V, D = len(vocab), 8
    freq = torch.tensor([counts[w] for w in vocab], dtype=torch.float).pow_(0.75)
    emb_in = torch.empty(V, D).uniform_(-0.5 / D, 0.5 / D)
    emb_out = torch.zeros(V, D)
    pairs = [
        (ids[i], ids[j])
        for i in range(len(ids))
        for j in range(max(0, i - 2), min(len(ids), i + 3))
        if i != j
    ]
    centre, context = map(torch.stack, zip(*pairs))
    curve = []
    for _ in range(20):
        batch = torch.randperm(len(centre))[:40]
        negatives = torch.multinomial(freq, 40 * 3, replacement=True).view(40, 3)
        u = emb_in[centre[batch]].requires_grad_()
        pos = emb_out[context[batch]].requires_grad_()
        neg = emb_out[negatives].requires_grad_()
        score = (u * pos).sum(-1)
        noise = torch.bmm(neg, u.unsqueeze(2)).squeeze(2)
        loss = -(F.logsigmoid(score) + F.logsigmoid(-noise).sum(1)).sum()
        gu, gp, gn = torch.autograd.grad(loss, (u, pos, neg))
        emb_in.index_add_(0, centre[batch], gu, alpha=-0.1)
        emb_out.index_add_(0, context[batch], gp, alpha=-0.1)
        emb_out.index_add_(0, negatives.flatten(), gn.flatten(0, 1), alpha=-0.1)
        curve.append(loss.item())
    unit = F.normalize(emb_in)
    similar = (unit @ unit.T).fill_diagonal_(-1)
    co = torch.zeros(V, V).index_put_((centre, context), torch.tensor(1.0), accumulate=True)
    pmi = (co * co.sum() / (co.sum(0) * co.sum(1, keepdim=True))).log().clamp(min=0)
    table = torch.randn(V, D, requires_grad=True)
    padded = torch.tensor([[1, 2, 0], [3, 0, 0]])
    F.embedding(padded, table, padding_idx=0).sum().backward()
    bag = F.embedding_bag(ids[:10], emb_in, torch.tensor([0, 4, 7]), mode="sum")
    return {
        "curve": curve,
        "emb": emb_in,
        "similar": similar.max(1).values,
        "pmi": pmi,
        "table_grad": table.grad,
        "bag": bag,
        "vocab": vocab,
        "max_norm": F.embedding(padded, table.detach().clone(), max_norm=1.0),
    }
