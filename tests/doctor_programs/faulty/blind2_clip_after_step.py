# expect: clip-misplaced line 31

import torch
import torch.nn as nn

torch.manual_seed(0)


class CharRNN(nn.Module):
    def __init__(self, vocab=12, hid=32):
        super().__init__()
        self.emb = nn.Embedding(vocab, 16)
        self.rnn = nn.GRU(16, hid, batch_first=True)
        self.out = nn.Linear(hid, vocab)

    def forward(self, x):
        h, _ = self.rnn(self.emb(x))
        return self.out(h)


net = CharRNN()
optim = torch.optim.Adam(net.parameters(), lr=5e-3)
for it in range(20):
    start = torch.randint(0, 12, (16, 1))
    seq = (start + torch.arange(9)) % 12
    logits = net(seq[:, :-1])
    loss = nn.functional.cross_entropy(logits.reshape(-1, 12), seq[:, 1:].reshape(-1))
    optim.zero_grad()
    loss.backward()
    optim.step()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    if it % 5 == 0:
        print(loss.item())
