"""The embedding MLP of Bengio 2003, with batch norm by hand and a check of every gradient."""

TEXT = "the quick brown fox jumps over the lazy dog while five wizards box and quack jokes "


def main(torch):
    F = torch.nn.functional
    vocab = sorted(set(TEXT))
    encode = {c: i for i, c in enumerate(vocab)}
    data = torch.tensor([encode[c] for c in TEXT])
    block = 3
    windows = data.unfold(0, block + 1, 1)
    X, Y = windows[:, :block], windows[:, block]

    g = torch.Generator().manual_seed(5)
    C = torch.randn((len(vocab), 6), generator=g)
    W1 = torch.randn((block * 6, 24), generator=g) * (5 / 3) / ((block * 6) ** 0.5)
    W2 = torch.randn((24, len(vocab)), generator=g) * 0.1
    b2 = torch.randn(len(vocab), generator=g) * 0.1
    bngain = torch.ones((1, 24))
    bnbias = torch.zeros((1, 24))
    mean_running, std_running = torch.zeros((1, 24)), torch.ones((1, 24))
    parameters = [C, W1, W2, b2, bngain, bnbias]
    for p in parameters:
        p.requires_grad = True

    losses, ratios = [], []
    for i in range(30):
        ix = torch.randint(0, X.shape[0], (32,), generator=g)
        emb = C[X[ix]]
        embcat = emb.view(emb.shape[0], -1)
        hpreact = embcat @ W1
        bnmeani = hpreact.mean(0, keepdim=True)
        bnstdi = hpreact.std(0, keepdim=True)
        hpreact = bngain * (hpreact - bnmeani) / bnstdi + bnbias
        with torch.no_grad():
            mean_running = 0.99 * mean_running + 0.01 * bnmeani
            std_running = 0.99 * std_running + 0.01 * bnstdi
        h = torch.tanh(hpreact)
        logits = h @ W2 + b2
        loss = F.cross_entropy(logits, Y[ix])
        for t in (emb, embcat, hpreact, h, logits):
            t.retain_grad()
        for p in parameters:
            p.grad = None
        loss.backward()
        with torch.no_grad():
            ratios.append([((0.5 * p.grad).std() / p.data.std()).log10().item() for p in (C, W1)])
        for p in parameters:
            p.data += -0.5 * p.grad
        losses.append(loss.item())

    probs = F.softmax(logits, 1)
    dlogits = probs.clone()
    dlogits[range(32), Y[ix]] -= 1
    dlogits /= 32
    manual = (dlogits - logits.grad).abs().max() < 1e-6
    saturated = (h.abs() > 0.97).float().mean()
    return {
        "losses": losses,
        "ratios": ratios,
        "manual": bool(manual),
        "saturated": saturated,
        "running": [mean_running, std_running],
        "emb_grad": emb.grad,
        "shape": tuple(emb.shape),
    }
