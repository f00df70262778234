"""Classifying names of different lengths with LSTM and GRU over packed sequences."""

NAMES = {
    "it": ["rossi", "bianchi", "esposito", "ricci", "marino", "conti", "gallo"],
    "ru": ["ivanov", "petrov", "smirnov", "volkov", "sokolov", "popov", "orlov"],
    "ja": ["sato", "suzuki", "takahashi", "tanaka", "ito", "watanabe", "abe"],
}
ALPHABET = "abcdefghijklmnopqrstuvwxyz"


def main(torch):
    nn = torch.nn
    from_rnn = nn.utils.rnn
    torch.manual_seed(3)
    pairs = [(n, i) for i, lang in enumerate(NAMES) for n in NAMES[lang]]

    class NamesDataset(torch.utils.data.Dataset):
        def __len__(self):
            return len(pairs)

        def __getitem__(self, i):
            name, label = pairs[i]
            return torch.tensor([ALPHABET.index(c) + 1 for c in name]), label

    def collate(batch):
        seqs, labels = zip(*batch)
        lengths = torch.tensor([len(s) for s in seqs])
        padded = from_rnn.pad_sequence(seqs, batch_first=True, padding_value=0)
        return padded, lengths, torch.tensor(labels)

    class Classifier(nn.Module):
        def __init__(self, cell, bidirectional=False):
            super().__init__()
            self.emb = nn.Embedding(27, 8, padding_idx=0)
            rnn = nn.LSTM if cell == "lstm" else nn.GRU
            self.rnn = rnn(8, 12, num_layers=2, batch_first=True, bidirectional=bidirectional)
            self.fc = nn.Linear(12 * (2 if bidirectional else 1), len(NAMES))

        def forward(self, x, lengths):
            packed = from_rnn.pack_padded_sequence(
                self.emb(x), lengths, batch_first=True, enforce_sorted=False
            )
            out, hidden = self.rnn(packed)
            out, lens = from_rnn.pad_packed_sequence(out, batch_first=True)
            mask = (torch.arange(out.size(1))[None] < lens[:, None]).unsqueeze(-1)
            pooled = (out * mask).sum(1) / lens.unsqueeze(1)
            return self.fc(pooled), hidden

    result = {}
    loader = torch.utils.data.DataLoader(
        NamesDataset(), batch_size=7, shuffle=True, collate_fn=collate
    )
    for kind, bi in [("lstm", False), ("gru", True)]:
        model = Classifier(kind, bi)
        opt = torch.optim.Adam(model.parameters(), lr=0.02)
        criterion = nn.CrossEntropyLoss()
        history = []
        for epoch in range(5):
            for x, lengths, y in loader:
                opt.zero_grad()
                logits, _ = model(x, lengths)
                loss = criterion(logits, y)
                loss.backward()
                nn.utils.clip_grad_value_(model.parameters(), 0.5)
                opt.step()
                history.append(loss.item())
        with torch.no_grad():
            model.eval()
            x, lengths, y = collate([NamesDataset()[i] for i in (0, 8, 20)])
            logits, hidden = model(x, lengths)
        result[kind] = {
            "history": history,
            "logits": logits,
            "hidden": list(hidden) if kind == "lstm" else [hidden],
            "padding_row": model.emb.weight[0].tolist(),
            "names": [n for n, _ in model.named_parameters()],
        }
    packed = from_rnn.pack_sequence([torch.arange(3.0), torch.arange(2.0), torch.ones(1)])
    result["packed"] = [packed.data, packed.batch_sizes]
    result["text"] = str(packed)
    return result
