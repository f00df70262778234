"""PEFT: LoRA adapters on a small GPT-2."""

import torch
from peft import LoraConfig, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
model = GPT2LMHeadModel(
    GPT2Config(vocab_size=50, n_embd=16, n_layer=1, n_head=2, n_positions=16, resid_pdrop=0.0,
               embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=0, eos_token_id=1)
)  # fmt: skip
model = get_peft_model(model, LoraConfig(r=2, target_modules=["c_attn"], fan_in_fan_out=True))
ids = torch.randint(0, 50, (2, 8))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
for _ in range(3):
    loss = model(input_ids=ids, labels=ids).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.5f}")
print(model.get_nb_trainable_parameters())
