# expect: bad-learning-rate line 23
# Adam with 0.5 on a transformer.

import clew as torch
from clew import nn

torch.manual_seed(0)


class LM(nn.Module):
    def __init__(self, v=30, d=24):
        super().__init__()
        self.tok = nn.Embedding(v, d)
        self.enc = nn.TransformerEncoderLayer(d, 4, 48, dropout=0.0, batch_first=True)
        self.out = nn.Linear(d, v)

    def forward(self, t):
        mask = nn.Transformer.generate_square_subsequent_mask(t.shape[1])
        return self.out(self.enc(self.tok(t), src_mask=mask))


lm = LM()
opt = torch.optim.Adam(lm.parameters(), lr=0.5)
for i in range(25):
    t = torch.randint(0, 30, (8, 12))
    logits = lm(t[:, :-1])
    loss = nn.functional.cross_entropy(logits.reshape(-1, 30), t[:, 1:].reshape(-1))
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
