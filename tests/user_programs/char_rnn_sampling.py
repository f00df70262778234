"""A character model: stacked LSTM with carried state, hidden dropout, temperature, beam search."""

TEXT = "the cat sat on the mat. the dog ate the log. a bat and a rat sat and that was that. " * 3


def main(torch):
    nn, F = torch.nn, torch.nn.functional
    torch.manual_seed(88)
    vocab = sorted(set(TEXT))
    encode = {c: i for i, c in enumerate(vocab)}
    ids = torch.tensor([encode[c] for c in TEXT])
    batch, seq = 3, 14

    class CharRNN(nn.Module):
        def __init__(self, kind, n_vocab, hidden=20, layers=2, tie=False):
            super().__init__()
            self.kind = kind
            self.drop = nn.Dropout(0.1)
            self.encoder = nn.Embedding(n_vocab, hidden)
            self.rnn = getattr(nn, kind)(hidden, hidden, layers, dropout=0.1)
            self.decoder = nn.Linear(hidden, n_vocab)
            if tie:
                self.decoder.weight = self.encoder.weight
            nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
            nn.init.zeros_(self.decoder.bias)
            for name, p in self.rnn.named_parameters():
                if "weight_hh" in name:
                    nn.init.orthogonal_(p)
                elif "bias_ih" in name and kind == "LSTM":
                    p.data[hidden : 2 * hidden].fill_(1.0)

        def forward(self, input, hidden):
            emb = self.drop(self.encoder(input))
            output, hidden = self.rnn(emb, hidden)
            decoded = self.decoder(self.drop(output))
            return F.log_softmax(decoded.view(-1, decoded.size(-1)), dim=1), hidden

        def init_hidden(self, bsz):
            weight = next(self.parameters())
            zeros = weight.new_zeros(self.rnn.num_layers, bsz, self.rnn.hidden_size)
            return (zeros, zeros.clone()) if self.kind == "LSTM" else zeros

    def repackage_hidden(h):
        """Wraps hidden states in new Tensors, to detach them from their history."""
        if isinstance(h, torch.Tensor):
            return h.detach()
        return tuple(repackage_hidden(v) for v in h)

    def batchify(data, bsz):
        nbatch = data.size(0) // bsz
        return data.narrow(0, 0, nbatch * bsz).view(bsz, -1).t().contiguous()

    @torch.no_grad()
    def sample(model, start, n, temperature):
        model.eval()
        hidden, token, text = model.init_hidden(1), torch.tensor([[encode[start]]]), start
        for _ in range(n):
            output, hidden = model(token, hidden)
            weights = output.squeeze().div(temperature).exp().cpu()
            index = torch.multinomial(weights, 1)[0]
            token.fill_(index)
            text += vocab[index]
        return text

    @torch.no_grad()
    def beam_search(model, start, n, width=3):
        model.eval()
        beams = [(0.0, [encode[start]], model.init_hidden(1))]
        for _ in range(n):
            grown = []
            for score, tokens, hidden in beams:
                out, new = model(torch.tensor([[tokens[-1]]]), hidden)
                top = out[0].topk(width)
                for lp, ix in zip(top.values.tolist(), top.indices.tolist()):
                    grown.append((score + lp, [*tokens, ix], new))
            beams = sorted(grown, key=lambda b: b[0], reverse=True)[:width]
        return [(s, "".join(vocab[i] for i in t)) for s, t, _ in beams]

    data = batchify(ids, batch)
    result = {}
    for kind, tie in (("LSTM", True), ("GRU", False), ("RNN", False)):
        model = CharRNN(kind, len(vocab), tie=tie)
        lr, best = 1.0, None
        curve = []
        for epoch in range(2):
            model.train()
            hidden = model.init_hidden(batch)
            for i in range(0, data.size(0) - 1, seq):
                n = min(seq, len(data) - 1 - i)
                inputs, targets = data[i : i + n], data[i + 1 : i + 1 + n].view(-1)
                model.zero_grad()
                hidden = repackage_hidden(hidden)
                output, hidden = model(inputs, hidden)
                loss = nn.NLLLoss()(output, targets)
                loss.backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
                for p in model.parameters():
                    p.data.add_(p.grad, alpha=-lr)
                curve.append(loss.item())
            mean = sum(curve[-3:]) / 3
            if best is None or mean < best:
                best = mean
            else:
                lr /= 4.0
        result[kind] = {
            "curve": curve,
            "sample": sample(model, "t", 15, 0.8),
            "beams": beam_search(model, "a", 5),
            "hidden": repackage_hidden(hidden),
            "flat": [n for n, _ in model.rnn.named_parameters()],
        }
    return result
