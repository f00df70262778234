"""Transformers: small BERT, GPT-2 and Llama models, a few steps of training, and generation."""

import torch
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
)


def train(model, **inputs):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(3):
        loss = model(**inputs).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(type(model).__name__, f"{loss.item():.4f}")


torch.manual_seed(0)
size = {"vocab_size": 50, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
ids = torch.randint(3, 50, (2, 8))
bert = BertForSequenceClassification(
    BertConfig(
        **size, intermediate_size=32, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0
    )
)
train(bert, input_ids=ids, attention_mask=torch.ones_like(ids), labels=torch.tensor([0, 1]))
gpt = GPT2LMHeadModel(
    GPT2Config(vocab_size=50, n_embd=16, n_layer=2, n_head=2, n_positions=32, resid_pdrop=0.0,
               embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=0, eos_token_id=1)
)  # fmt: skip
train(gpt, input_ids=ids, labels=ids)
llama = LlamaForCausalLM(LlamaConfig(**size, intermediate_size=32, num_key_value_heads=1))
train(llama, input_ids=ids, labels=ids)
llama.eval()
print(llama.generate(ids[:1], max_new_tokens=4, do_sample=False, pad_token_id=0).tolist())
