"""nn.TransformerEncoder with padding masks, sinusoidal buffers, and nn.Transformer for copying."""

import math


def main(torch):
    nn = torch.nn
    torch.manual_seed(17)

    class PositionalEncoding(nn.Module):
        def __init__(self, d_model, dropout=0.1, max_len=50):
            super().__init__()
            self.dropout = nn.Dropout(p=dropout)
            position = torch.arange(max_len).unsqueeze(1)
            div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
            pe = torch.zeros(1, max_len, d_model)
            pe[0, :, 0::2] = torch.sin(position * div_term)
            pe[0, :, 1::2] = torch.cos(position * div_term)
            self.register_buffer("pe", pe)

        def forward(self, x):
            return self.dropout(x + self.pe[:, : x.size(1)])

    class Classifier(nn.Module):
        def __init__(self, norm_first):
            super().__init__()
            self.embedding = nn.Embedding(20, 16, padding_idx=0)
            self.pos = PositionalEncoding(16)
            layer = nn.TransformerEncoderLayer(
                d_model=16, nhead=4, dim_feedforward=32, dropout=0.1, activation="gelu",
                batch_first=True, norm_first=norm_first,
            )  # fmt: skip
            self.encoder = nn.TransformerEncoder(layer, 2, nn.LayerNorm(16), False)
            self.decoder = nn.Linear(16, 2)
            self.init_weights()

        def init_weights(self):
            initrange = 0.1
            self.embedding.weight.data.uniform_(-initrange, initrange)
            self.decoder.bias.data.zero_()
            self.decoder.weight.data.uniform_(-initrange, initrange)

        def forward(self, src):
            pad = src == 0
            out = self.pos(self.embedding(src) * math.sqrt(16))
            out = self.encoder(out, src_key_padding_mask=pad)
            out = out.masked_fill(pad.unsqueeze(-1), 0.0).sum(1) / (~pad).sum(1, keepdim=True)
            return self.decoder(out)

    def batch(n=12):
        length = torch.randint(3, 10, (n,))
        tokens = torch.randint(1, 20, (n, 9))
        tokens[torch.arange(9)[None] >= length[:, None]] = 0
        return tokens, ((tokens == 7).any(1) | (tokens > 16).sum(1).gt(2)).long()

    result = {}
    for norm_first in (False, True):
        model = Classifier(norm_first)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.98), eps=1e-9)
        noam = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda s: 16**-0.5 * min((s + 1) ** -0.5, (s + 1) * 4**-1.5) * 10
        )
        curve = []
        for _ in range(12):
            x, y = batch()
            loss = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 1.5]))(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5, error_if_nonfinite=True)
            optimizer.step()
            noam.step()
            curve.append(loss.item())
        model.eval()
        with torch.no_grad():
            x, y = batch(6)
            logits = model(x)
        result[f"pre{norm_first}"] = [curve, logits, noam.get_last_lr()]

    # nn.Transformer, sequence first, with a causal mask; the task is to copy.
    torch.manual_seed(18)
    model = nn.Transformer(d_model=16, nhead=2, num_encoder_layers=1, num_decoder_layers=1,
                           dim_feedforward=24, dropout=0.0)  # fmt: skip
    for p in model.parameters():
        if p.dim() > 1:
            nn.init.xavier_uniform_(p)
    emb, head = nn.Embedding(12, 16), nn.Linear(16, 12)
    everything = nn.ModuleList([model, emb, head])
    opt = torch.optim.Adam(everything.parameters(), lr=3e-3)
    copy_curve = []
    for _ in range(15):
        src = torch.randint(2, 12, (6, 8))
        tgt = torch.cat([torch.ones(1, 8, dtype=torch.long), src])
        mask = model.generate_square_subsequent_mask(6)
        out = head(model(emb(src), emb(tgt[:-1]), tgt_mask=mask))
        loss = nn.functional.cross_entropy(out.reshape(-1, 12), tgt[1:].reshape(-1))
        opt.zero_grad()
        loss.backward()
        opt.step()
        copy_curve.append(loss.item())
    attn = nn.MultiheadAttention(16, 4, dropout=0.0, batch_first=True)
    q = torch.randn(2, 5, 16)
    _, averaged = attn(q, q, q)
    _, per_head = attn(q, q, q, average_attn_weights=False)
    result["copy"] = copy_curve
    result["attention"] = [averaged, per_head.shape[1], per_head.sum(-1)]
    result["keys"] = list(everything.state_dict())
    result["repr"] = repr(model)
    return result
