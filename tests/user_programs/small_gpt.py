"""A decoder block of GPT with tied embeddings, dropout, AdamW and sampling."""

import math

TEXT = "To be, or not to be, that is the question: Whether 'tis nobler in the mind to suffer"


def main(torch):
    F = torch.nn.functional
    torch.manual_seed(1337)
    chars = sorted(set(TEXT))
    stoi = {c: i for i, c in enumerate(chars)}
    data = torch.tensor([stoi[c] for c in TEXT], dtype=torch.long)
    V, C, n_head, T, n_layer = len(chars), 16, 2, 8, 2

    P = {"wte": torch.normal(0.0, 0.02, (V, C)), "wpe": torch.normal(0.0, 0.02, (T, C))}
    for layer in range(n_layer):
        P[f"{layer}.ln1"], P[f"{layer}.ln2"] = torch.ones(C), torch.ones(C)
        P[f"{layer}.qkv"] = torch.normal(0.0, 0.02, (3 * C, C))
        P[f"{layer}.proj"] = torch.normal(0.0, 0.02 / math.sqrt(2 * n_layer), (C, C))
        P[f"{layer}.fc"] = torch.empty(4 * C, C).normal_(mean=0.0, std=0.02)
        P[f"{layer}.fcb"] = torch.zeros(4 * C)
        P[f"{layer}.out"] = torch.empty(C, 4 * C).normal_(std=0.02)
    P["lnf"] = torch.ones(C)
    for p in P.values():
        p.requires_grad_()

    def forward(idx, targets=None, training=True):
        b, t = idx.size()
        pos = torch.arange(0, t, dtype=torch.long, device=idx.device)
        x = F.embedding(idx, P["wte"]) + P["wpe"][pos]
        x = F.dropout(x, 0.1, training=training)
        for i in range(n_layer):
            h = F.layer_norm(x, (C,), weight=P[f"{i}.ln1"])
            q, k, v = F.linear(h, P[f"{i}.qkv"]).split(C, dim=2)
            q, k, v = (z.view(b, t, n_head, C // n_head).transpose(1, 2) for z in (q, k, v))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            y = y.transpose(1, 2).contiguous().view(b, t, C)
            x = x + F.dropout(F.linear(y, P[f"{i}.proj"]), 0.1, training)
            h = F.layer_norm(x, [C], P[f"{i}.ln2"], None, 1e-5)
            h = F.gelu(F.linear(h, P[f"{i}.fc"], P[f"{i}.fcb"]), approximate="tanh")
            x = x + F.dropout(F.linear(h, P[f"{i}.out"]), p=0.1, training=training)
        logits = F.layer_norm(x, (C,), P["lnf"]) @ P["wte"].T
        if targets is None:
            return logits
        return F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)

    m = {n: torch.zeros_like(p) for n, p in P.items()}
    v = {n: torch.zeros_like(p) for n, p in P.items()}
    losses = []
    for it in range(1, 21):
        ix = torch.randint(len(data) - T, (6,))
        x = torch.stack([data[i : i + T] for i in ix])
        y = torch.stack([data[i + 1 : i + 1 + T] for i in ix])
        loss = forward(x, y)
        loss.backward()
        lr = 3e-3 * 0.5 * (1 + math.cos(math.pi * it / 20))
        with torch.no_grad():
            for n, p in P.items():
                if p.dim() >= 2:
                    p.mul_(1 - lr * 0.1)
                m[n].mul_(0.9).add_(p.grad, alpha=0.1)
                v[n].mul_(0.99).addcmul_(p.grad, p.grad, value=0.01)
                update = (m[n] / (1 - 0.9**it)) / ((v[n] / (1 - 0.99**it)).sqrt() + 1e-4)
                p -= lr * update
                p.grad = None
        losses.append(loss.item())

    with torch.inference_mode():
        idx = torch.zeros((1, 1), dtype=torch.long)
        for _ in range(12):
            logits = forward(idx[:, -T:], training=False)[:, -1, :] / 0.8
            kth, _ = torch.topk(logits, min(10, logits.size(-1)))
            logits[logits < kth[:, [-1]]] = -float("Inf")
            idx = torch.cat((idx, torch.multinomial(F.softmax(logits, dim=-1), 1)), dim=1)
    text = "".join(chars[i] for i in idx[0].tolist())
    return {"losses": losses, "text": text, "params": sum(p.numel() for p in P.values())}
