# expect: nothing
# A dataset of ragged samples with a collate function; predictions go to NumPy under no_grad.

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Ragged(Dataset):
    def __init__(self, n=80, seed=439):
        rng = np.random.default_rng(seed)
        self.rows = [rng.normal(size=(rng.integers(2, 7), 3)).astype(np.float32) for _ in range(n)]
        self.labels = [int(row[:, 0].sum() > 0) for row in self.rows]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return torch.from_numpy(self.rows[i]), self.labels[i]


def collate(samples):
    rows, labels = zip(*samples)
    lengths = torch.tensor([len(row) for row in rows])
    padded = nn.utils.rnn.pad_sequence(rows, batch_first=True)
    return padded, lengths, torch.tensor(labels)


torch.manual_seed(439)
loader = DataLoader(Ragged(), batch_size=20, shuffle=True, collate_fn=collate)
phi, rho = nn.Sequential(nn.Linear(3, 24), nn.ReLU()), nn.Linear(24, 2)
optimizer = torch.optim.Adam([*phi.parameters(), *rho.parameters()], lr=1e-2)


def forward(padded, lengths):
    mask = (torch.arange(padded.size(1)) < lengths.unsqueeze(1)).unsqueeze(-1)
    return rho((phi(padded) * mask).sum(dim=1))


losses, predictions = [], []
for _ in range(10):
    for padded, lengths, labels in loader:
        loss = F.cross_entropy(forward(padded, lengths), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
with torch.no_grad():
    for padded, lengths, _ in loader:
        predictions.append(forward(padded, lengths).argmax(1).numpy())
print("predicted", int(np.concatenate(predictions).sum()))
print(losses[0], losses[-1])
