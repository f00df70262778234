"""a small encoder made from parts, trained to tell pairs apart, searched and saved"""

import tempfile
from pathlib import Path

import torch
from sentence_transformers import InputExample, SentenceTransformer, losses, util
from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer
from transformers import BertConfig, BertModel, BertTokenizer

words = "[PAD] [UNK] [CLS] [SEP] [MASK] a the cat dog sits runs fast on mat house blue".split()
sentences = ["a cat sits on the mat", "the dog runs fast", "the blue house", "a dog sits"]
with tempfile.TemporaryDirectory() as folder:
    Path(folder, "vocab.txt").write_text("\n".join(words))
    BertTokenizer(f"{folder}/vocab.txt").save_pretrained(folder)
    torch.manual_seed(0)
    BertModel(
        BertConfig(vocab_size=len(words), hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
                   intermediate_size=32)
    ).save_pretrained(folder)  # fmt: skip
    encoder = Transformer(folder, max_seq_length=12)
    model = SentenceTransformer(modules=[encoder, Pooling(16), Normalize()], device="cpu")
    found = model.encode(sentences, convert_to_tensor=True)
    print(tuple(found.shape), f"{found.abs().sum().item():.4f}")
    print(*[f"{each:.4f}" for each in util.cos_sim(found[:1], found)[0].tolist()])
    loss = losses.CosineSimilarityLoss(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    pairs = [InputExample(texts=[sentences[0], sentences[3]], label=0.8),
             InputExample(texts=[sentences[1], sentences[2]], label=0.1)]  # fmt: skip
    model.eval()
    for _ in range(3):
        features, labels = model.smart_batching_collate(pairs)
        value = loss(features, labels)
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        print(f"{value.item():.4f}")
    model.save(f"{folder}/saved")
    again = SentenceTransformer(f"{folder}/saved", device="cpu")
    print(f"{again.encode(sentences, convert_to_tensor=True).sum().item():.4f}")
    hits = util.semantic_search(model.encode(sentences, convert_to_tensor=True)[:1], found, top_k=2)
    print([(each["corpus_id"], round(each["score"], 3)) for each in hits[0]])
