"""Character bigrams: counts, then a softmax regression, then sampling names."""

NAMES = [
    "emma",
    "olivia",
    "ava",
    "isabella",
    "sophia",
    "mia",
    "charlotte",
    "amelia",
    "harper",
    "evelyn",
    "abigail",
    "emily",
    "ella",
    "scarlett",
    "grace",
    "chloe",
    "camila",
    "penelope",
]


def main(torch):
    F = torch.nn.functional
    chars = sorted(set("".join(NAMES)))
    stoi = {s: i + 1 for i, s in enumerate(chars)}
    stoi["."] = 0
    itos = {i: s for s, i in stoi.items()}
    vocab = len(stoi)

    counts = torch.zeros((vocab, vocab), dtype=torch.int32)
    xs, ys = [], []
    for name in NAMES:
        text = ["."] + list(name) + ["."]
        for a, b in zip(text, text[1:]):
            counts[stoi[a], stoi[b]] += 1
            xs.append(stoi[a])
            ys.append(stoi[b])
    xs, ys = torch.tensor(xs), torch.tensor(ys)

    prob = (counts + 1).float()
    prob /= prob.sum(1, keepdim=True)
    g = torch.Generator().manual_seed(2147483647)
    words = []
    for _ in range(5):
        out, ix = [], 0
        while True:
            ix = torch.multinomial(prob[ix], num_samples=1, replacement=True, generator=g).item()
            if ix == 0:
                break
            out.append(itos[ix])
        words.append("".join(out))

    g = torch.Generator().manual_seed(2147483647)
    W = torch.randn((vocab, vocab), generator=g, requires_grad=True)
    losses = []
    for _ in range(20):
        xenc = F.one_hot(xs, num_classes=vocab).float()
        logits = xenc @ W
        e = logits.exp()
        probs = e / e.sum(1, keepdims=True)
        loss = -probs[torch.arange(len(xs)), ys].log().mean() + 0.01 * (W**2).mean()
        W.grad = None
        loss.backward()
        W.data += -10 * W.grad
        losses.append(loss.item())
    nll = -torch.log(prob[xs, ys]).mean()
    return {"words": words, "losses": losses, "nll": nll, "counts": counts, "rows": prob.sum(1)}
