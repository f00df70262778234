"""Vanilla RNN, LSTM and GRU cells by hand; truncated back-propagation with detach."""


def rnn_cell(torch, x, h, w):
    return torch.tanh(x @ w["wx"] + h @ w["wh"] + w["b"])


def lstm_cell(torch, x, state, w):
    h, c = state
    gates = torch.cat((x, h), dim=-1).matmul(w["w"]) + w["b"]
    i, f, g, o = gates.chunk(4, dim=1)
    c = torch.sigmoid(f + 1) * c + torch.sigmoid(i) * torch.tanh(g)
    return o.sigmoid() * c.tanh(), c


def gru_cell(torch, x, h, w):
    r, z, n = torch.split(x @ w["wi"], h.shape[1], dim=1)
    hr, hz, hn = torch.split(h @ w["wh"], h.size(1), dim=1)
    r, z = (r + hr).sigmoid(), (z + hz).sigmoid()
    n = torch.tanh(n + r * hn)
    return (1 - z) * n + z * h


def main(torch):
    F = torch.nn.functional
    torch.manual_seed(3)
    T, B, D, H = 60, 4, 3, 8
    t = torch.arange(T + 1, dtype=torch.float32)
    signal = torch.stack([torch.sin(t * f) for f in (0.3, 0.7, 1.1)], dim=-1)
    phases = torch.rand(B, 1, 1)
    seq = signal[None] * phases + 0.05 * torch.randn(B, T + 1, D)

    def fresh(*shape):
        return (torch.randn(*shape) * 0.2).requires_grad_()

    results = {}
    for kind in ("rnn", "lstm", "gru"):
        torch.manual_seed(11)
        if kind == "rnn":
            w = {"wx": fresh(D, H), "wh": fresh(H, H), "b": fresh(H)}
        elif kind == "lstm":
            w = {"w": fresh(D + H, 4 * H), "b": fresh(4 * H)}
        else:
            w = {"wi": fresh(D, 3 * H), "wh": fresh(H, 3 * H)}
        w["out"] = fresh(H, D)
        h = torch.zeros(B, H)
        c = torch.zeros(B, H)
        losses = []
        for _epoch in range(3):
            for start in range(0, T, 15):
                h, c = h.detach(), c.detach()
                outs = []
                for x in seq[:, start : start + 15].unbind(dim=1):
                    if kind == "rnn":
                        h = rnn_cell(torch, x, h, w)
                    elif kind == "lstm":
                        h, c = lstm_cell(torch, x, (h, c), w)
                    else:
                        h = gru_cell(torch, x, h, w)
                    outs.append(h @ w["out"])
                pred = torch.stack(outs, 1)
                loss = F.mse_loss(pred, seq[:, start + 1 : start + 16])
                loss.backward()
                norm = sum(p.grad.pow(2).sum() for p in w.values()) ** 0.5
                with torch.no_grad():
                    for p in w.values():
                        p -= 0.2 * p.grad / max(1.0, norm.item())
                        p.grad = None
                losses.append(loss.item())
        results[kind] = losses
        results[kind + "_h"] = h.detach()
    return results
