"""GPT-2, BERT, T5 and Llama trained, saved, loaded again, generating by beams and by sampling"""

import torch, tempfile
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    BertConfig,
    BertForMaskedLM,
    T5Config,
    T5ForConditionalGeneration,
    LlamaConfig,
    LlamaForCausalLM,
)

torch.manual_seed(0)


def train(model, **inputs):
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model.train()
    for _ in range(3):
        loss = model(**inputs).loss
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(type(model).__name__, f"{loss.item():.5f}")


ids = torch.randint(3, 50, (2, 8))
gpt = GPT2LMHeadModel(
    GPT2Config(
        vocab_size=50,
        n_embd=16,
        n_layer=2,
        n_head=2,
        n_positions=32,
        bos_token_id=0,
        eos_token_id=1,
    )
)
train(gpt, input_ids=ids, labels=ids)
bert = BertForMaskedLM(
    BertConfig(
        vocab_size=50,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
    )
)
train(bert, input_ids=ids, attention_mask=torch.tensor([[1] * 8, [1] * 5 + [0] * 3]), labels=ids)
t5 = T5ForConditionalGeneration(
    T5Config(
        vocab_size=50,
        d_model=16,
        d_kv=8,
        d_ff=32,
        num_layers=2,
        num_heads=2,
        decoder_start_token_id=0,
    )
)
train(t5, input_ids=ids, labels=ids[:, :5].contiguous())
llama = LlamaForCausalLM(
    LlamaConfig(
        vocab_size=50,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        num_key_value_heads=1,
    )
)
train(llama, input_ids=ids, labels=ids)
for m in (gpt, t5, llama):
    m.eval()
    with tempfile.TemporaryDirectory() as d:
        m.save_pretrained(d)
        again = type(m).from_pretrained(d)
        print(
            type(again).__name__,
            all(
                torch.equal(a, b)
                for a, b in zip(m.state_dict().values(), again.state_dict().values())
            ),
        )
        half = type(m).from_pretrained(d, dtype=torch.bfloat16)
        print(half.dtype)
    print(again.generate(ids[:1], max_new_tokens=6, do_sample=False, pad_token_id=0).tolist())
    print(
        again.generate(ids, max_new_tokens=6, do_sample=False, num_beams=3, pad_token_id=0).tolist()
    )
    torch.manual_seed(1)
    print(
        again.generate(
            ids,
            max_new_tokens=6,
            do_sample=True,
            top_k=10,
            top_p=0.9,
            temperature=0.7,
            pad_token_id=0,
        ).tolist()
    )
