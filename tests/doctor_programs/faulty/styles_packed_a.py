# expect: batch-mixing line 21
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

torch.manual_seed(15)


class Tagger(nn.Module):
    def __init__(self, vocab=25, d=16, h=20):
        super().__init__()
        self.h = h
        self.emb = nn.Embedding(vocab, d, padding_idx=0)
        self.rnn = nn.LSTM(d, h, batch_first=True, bidirectional=True)
        self.score = nn.Linear(2 * h, 1)

    def forward(self, ids, lengths, state=None):
        packed = pack_padded_sequence(self.emb(ids), lengths, batch_first=True, enforce_sorted=False)
        out, state = self.rnn(packed, state)
        out, _ = pad_packed_sequence(out, batch_first=True)
        last = state[0].reshape(ids.size(0), -1)
        return self.score(last).squeeze(1), state


def batch(n=16):
    seqs = [torch.randint(1, 25, (int(torch.randint(3, 9, ())),)) for _ in range(n)]
    y = torch.tensor([float((s > 12).float().mean()) for s in seqs])
    return pad_sequence(seqs, batch_first=True), torch.tensor([len(s) for s in seqs]), y


model = Tagger()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
state = None
for it in range(12):
    ids, lengths, y = batch()
    pred, _ = model(ids, lengths)
    loss = (pred - y).square().mean()
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
print(loss.item())
