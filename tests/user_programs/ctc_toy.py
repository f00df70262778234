"""CTC on a toy alphabet, greedy decoding, and forced alignment by Viterbi in a loop."""


def main(torch):
    F = torch.nn.functional
    torch.manual_seed(9)
    T, N, C = 12, 3, 5
    x = torch.randn(T, N, 7)
    W = (torch.randn(7, C) * 0.2).requires_grad_()
    targets = torch.tensor([[1, 2, 3], [2, 2, 4], [4, 1, 0]])
    in_len = torch.full((N,), T, dtype=torch.long)
    tgt_len = torch.tensor([3, 3, 2])
    curve = []
    for _ in range(25):
        logp = F.log_softmax(x @ W, dim=-1)
        loss = F.ctc_loss(logp, targets, in_len, tgt_len, blank=0, zero_infinity=True)
        loss.backward()
        W.data -= 1.0 * W.grad
        W.grad.zero_()
        curve.append(loss.item())
    each = F.ctc_loss(logp, targets, in_len, tgt_len, reduction="none")
    flat = F.ctc_loss(
        logp, torch.cat([t[:n] for t, n in zip(targets, tgt_len)]), in_len, tgt_len, reduction="sum"
    )
    decoded = []
    for path in logp.argmax(-1).T:
        collapsed = torch.unique_consecutive(path)
        decoded.append(collapsed[collapsed != 0].tolist())

    emission = logp[:, 0].detach()
    tokens = targets[0]
    trellis = torch.full((T + 1, len(tokens) + 1), -float("inf"))
    trellis[:, 0] = 0
    for t in range(T):
        trellis[t + 1, 1:] = torch.maximum(
            trellis[t, 1:] + emission[t, 0], trellis[t, :-1] + emission[t, tokens]
        )
    return {"curve": curve, "each": each, "flat": flat, "decoded": decoded, "trellis": trellis}
