# expect: batch-mixing line 32
import random
import torch
from torch import nn

PAD, BOS, V, H = 0, 1, 15, 24


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(V, H, padding_idx=PAD)
        self.drop = nn.Dropout(0.1)
        self.rnn = nn.GRU(H, H, batch_first=True)

    def forward(self, src):
        return self.rnn(self.drop(self.emb(src)))


class AttnDecoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(V, H, padding_idx=PAD)
        self.w_q = nn.Linear(H, H)
        self.w_k = nn.Linear(H, H)
        self.v = nn.Linear(H, 1)
        self.cell = nn.GRUCell(2 * H, H)
        self.out = nn.Linear(2 * H, V)

    def attend(self, h, memory, mask):
        e = self.v(torch.tanh(self.w_q(h)[:, None] + self.w_k(memory)))[..., 0]
        a = torch.softmax(e.masked_fill(~mask, -1e9), dim=0)
        return torch.einsum("bt,bth->bh", a, memory)

    def step(self, tok, h, memory, mask):
        ctx = self.attend(h, memory, mask)
        h = self.cell(torch.cat([self.emb(tok), ctx], -1), h)
        return self.out(torch.cat([h, ctx], -1)), h


def make_batch(n):
    lens = torch.randint(3, 7, (n,))
    src = torch.zeros(n, 6, dtype=torch.long)
    for i, l in enumerate(lens.tolist()):
        src[i, :l] = torch.randint(2, V, (l,))
    tgt = torch.where(src > 0, (src - 2 + 3) % (V - 2) + 2, src)
    return src, tgt


def run_batch(enc, dec, src, tgt, teacher_forcing):
    memory, h = enc(src)
    h = h[0]
    mask = src != PAD
    tok = torch.full((len(src),), BOS)
    total = 0.0
    for t in range(tgt.shape[1]):
        logits, h = dec.step(tok, h, memory, mask)
        total = total + nn.functional.cross_entropy(logits, tgt[:, t], ignore_index=PAD, reduction="sum")
        tok = tgt[:, t] if random.random() < teacher_forcing else logits.argmax(-1)
    return total / mask.sum()


def main():
    random.seed(0)
    torch.manual_seed(2)
    enc, dec = Encoder(), AttnDecoder()
    params = [*enc.parameters(), *dec.parameters()]
    opt = torch.optim.Adam(params, lr=4e-3)
    history, valid = [], make_batch(16)
    for epoch in range(6):
        for _ in range(8):
            opt.zero_grad()
            loss = run_batch(enc, dec, *make_batch(16), teacher_forcing=1.0 - epoch / 10)
            loss.backward()
            nn.utils.clip_grad_norm_(params, 1.0)
            opt.step()
            history.append(loss.item())
        enc.eval(), dec.eval()
        with torch.no_grad():
            v = run_batch(enc, dec, *valid, teacher_forcing=0.0)
        enc.train(), dec.train()
        print(epoch, f"{float(sum(history[-8:])) / 8:.3f} {v:.3f}")


main()
