"""x-transformers: a small decoder, trained for a few steps."""

import torch
from x_transformers import AutoregressiveWrapper, Decoder, TransformerWrapper

torch.manual_seed(0)
model = AutoregressiveWrapper(
    TransformerWrapper(
        num_tokens=30,
        max_seq_len=16,
        attn_layers=Decoder(dim=16, depth=2, heads=2, rotary_pos_emb=True),
    )
)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
tokens = torch.randint(0, 30, (2, 17))
for _ in range(3):
    loss = model(tokens)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.4f}")
