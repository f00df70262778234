# expect: nothing
import torch
from torch import nn
from torch.nn.utils.rnn import pack_sequence, pad_packed_sequence
from torch.utils.data import Dataset, DataLoader

torch.manual_seed(14)


class Reviews(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.items = []
        for _ in range(n):
            length = int(torch.randint(4, 11, (), generator=g))
            ids = torch.randint(1, 50, (length,), generator=g)
            self.items.append((ids, float((ids < 15).float().mean() > 0.3)))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(batch):
    batch = sorted(batch, key=lambda b: -len(b[0]))
    return [b[0] for b in batch], torch.tensor([b[1] for b in batch])


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(50, 16)
        self.gru = nn.GRU(16, 24, bidirectional=True)
        self.attention = nn.Linear(48, 1)
        self.output = nn.Linear(48, 1)

    def forward(self, seqs):
        packed = pack_sequence([self.embedding(s) for s in seqs])
        out, lengths = pad_packed_sequence(self.gru(packed)[0], batch_first=True)
        mask = torch.arange(out.shape[1])[None] < lengths[:, None]
        scores = self.attention(out).squeeze(-1).masked_fill(~mask, -1e4)
        weights = torch.softmax(scores, dim=1)
        context = torch.bmm(weights.unsqueeze(1), out).squeeze(1)
        return self.output(context).squeeze(1)


train_dl = DataLoader(Reviews(160, 1), batch_size=32, shuffle=True, collate_fn=collate)
test_dl = DataLoader(Reviews(48, 2), batch_size=48, collate_fn=collate)
model = Model()
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=3, gamma=0.5)
for epoch in range(6):
    running = 0.0
    for seqs, y in train_dl:
        optimizer.zero_grad()
        loss = criterion(model(seqs), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        running += loss.item()
    scheduler.step()
    with torch.no_grad():
        correct = sum(((model(s) > 0) == (y > 0.5)).float().sum().item() for s, y in test_dl)
print(running / len(train_dl), correct / 48)
