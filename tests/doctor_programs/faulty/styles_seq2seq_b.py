# expect: accumulation-not-averaged line 53, 55
import random
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(21)
random.seed(21)
V, H, SOS = 12, 24, 0


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.gru = nn.Embedding(V, H), nn.GRU(H, H, batch_first=True)

    def forward(self, src):
        return self.gru(self.emb(src))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.cell = nn.Embedding(V, H), nn.GRUCell(2 * H, H)
        self.att, self.out = nn.Linear(H, H), nn.Linear(2 * H, V)

    def step(self, tok, h, memory):
        scores = torch.bmm(memory, self.att(h).unsqueeze(2)).squeeze(2)
        ctx = torch.bmm(scores.softmax(1).unsqueeze(1), memory).squeeze(1)
        h = self.cell(torch.cat([self.emb(tok), ctx], 1), h)
        return self.out(torch.cat([h, ctx], 1)), h

    def forward(self, tgt, h, memory, ratio):
        tok, outs = torch.full_like(tgt[:, 0], SOS), []
        for t in range(tgt.size(1)):
            logits, h = self.step(tok, h, memory)
            outs.append(logits)
            tok = tgt[:, t] if random.random() < ratio else logits.argmax(1)
        return torch.stack(outs, 1)


enc, dec = Encoder(), Decoder()
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=5e-3)
K = 4
for it in range(10):
    opt.zero_grad()
    for micro in range(K):
        src = torch.randint(1, V, (16, 5))
        tgt = src.flip(1)
        memory, h = enc(src)
        logits = dec(tgt, h[0], memory, ratio=0.7)
        loss = F.cross_entropy(logits.flatten(0, 1), tgt.flatten())
        loss.backward()
    nn.utils.clip_grad_norm_(enc.parameters(), 1.0)
    opt.step()
print(loss.item())
