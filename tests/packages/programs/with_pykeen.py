"""PyKEEN: four embeddings of a knowledge graph, trained and evaluated"""

from pykeen.pipeline import pipeline

for model in ("TransE", "DistMult", "RotatE", "ComplEx"):
    result = pipeline(
        dataset="nations", model=model, model_kwargs={"embedding_dim": 8}, random_seed=0,
        training_kwargs={"num_epochs": 2, "use_tqdm": False, "batch_size": 256}, device="cpu",
        evaluation_kwargs={"use_tqdm": False},
    )  # fmt: skip
    print(model, [f"{loss:.4f}" for loss in result.losses], f"{result.get_metric('mrr'):.2f}")
