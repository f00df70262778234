"""Encoder-decoder with attention, padding masks, teacher forcing, greedy and beam search."""


def main(torch):
    F = torch.nn.functional
    torch.manual_seed(205)
    V, D, PAD, BOS, EOS = 9, 12, 0, 1, 2
    src = torch.tensor([[3, 4, 5, 2, 0], [6, 7, 2, 0, 0], [8, 3, 4, 6, 2]])
    tgt = torch.tensor([[1, 5, 4, 3, 2, 0], [1, 7, 6, 2, 0, 0], [1, 6, 4, 3, 8, 2]])
    P = [
        torch.randn(V, D) * 0.3,
        torch.randn(D, D) * 0.3,
        torch.randn(D, D) * 0.3,
        torch.randn(2 * D, D) * 0.3,
        torch.randn(D, V) * 0.3,
        torch.randn(D, D) * 0.3,
    ]
    for t in P:
        t.requires_grad_()
    E, Wx, Wh, Wc, Wo, Wd = P

    def encode(tokens):
        h, states = torch.zeros(tokens.size(0), D), []
        lengths = (tokens != PAD).sum(1)
        for t in range(tokens.size(1)):
            new = torch.tanh(E[tokens[:, t]] @ Wx + h @ Wh)
            h = torch.where((t < lengths).unsqueeze(1), new, h)
            states.append(h)
        return torch.stack(states, dim=1), h, tokens.eq(PAD)

    def step(token, h, memory, mask):
        h = torch.tanh(E[token] @ Wx + h @ Wd)
        scores = torch.bmm(memory, h.unsqueeze(-1)).squeeze(-1).masked_fill(mask, -1e9)
        context = (F.softmax(scores, -1)[..., None] * memory).sum(1)
        return torch.tanh(torch.cat([h, context], -1) @ Wc) @ Wo, h

    curve = []
    for _ in range(20):
        memory, h, mask = encode(src)
        logits = []
        for t in range(tgt.size(1) - 1):
            step_logits, h = step(tgt[:, t], h, memory, mask)
            logits.append(step_logits)
        loss = F.cross_entropy(torch.stack(logits, 2), tgt[:, 1:], ignore_index=PAD)
        grads = torch.autograd.grad(loss, P)
        norm = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(g) for g in grads]))
        with torch.no_grad():
            for w, g in zip(P, grads):
                w.sub_(g * torch.clamp(5.0 / norm, max=1.0))
        curve.append(loss.item())

    with torch.no_grad():
        memory, h, mask = encode(src)
        token, greedy = torch.full((3,), BOS), []
        finished = torch.zeros(3, dtype=torch.bool)
        for _ in range(7):
            logits, h = step(token, h, memory, mask)
            token = logits.argmax(-1).masked_fill(finished, PAD)
            finished |= token == EOS
            greedy.append(token)
            if finished.all():
                break
        memory, h, mask = encode(src[:1])
        beams, scores = torch.full((1, 1), BOS), torch.zeros(1)
        for _ in range(5):
            n = beams.size(0)
            logits, h = step(beams[:, -1], h, memory.expand(n, -1, -1), mask.expand(n, -1))
            total = scores[:, None] + logits.log_softmax(-1)
            scores, flat = total.flatten().topk(min(3, total.numel()))
            parent, word = flat // V, flat % V
            beams = torch.cat([beams[parent], word[:, None]], dim=1)
            h = h[parent]
    grams = [torch.stack([row[:-1], row[1:]], 1).unique(dim=0) for row in (tgt[0], tgt[2])]
    overlap = (grams[0][:, None] == grams[1][None]).all(-1).any(1).sum()
    edit = torch.zeros(4, 5, dtype=torch.long)
    edit[:, 0], edit[0] = torch.arange(4), torch.arange(5)
    for i in range(1, 4):
        for j in range(1, 5):
            same = int(src[0, i - 1] != tgt[0, j])
            edit[i, j] = min(edit[i - 1, j] + 1, edit[i, j - 1] + 1, edit[i - 1, j - 1] + same)
    return {
        "curve": curve,
        "greedy": torch.stack(greedy, 1),
        "beams": beams,
        "scores": scores,
        "overlap": overlap,
        "edit": edit,
        "lengths": src.ne(PAD).sum(-1).tolist(),
    }
