"""TabNet: a classifier and a regressor trained, features masked, weights of features"""

import numpy as np
from pytorch_tabnet.pretraining import TabNetPretrainer
from pytorch_tabnet.tab_model import TabNetClassifier, TabNetRegressor

x = np.random.default_rng(0).normal(size=(128, 6)).astype("float32")
kind = (x[:, 0] + x[:, 1] > 0).astype(int)
options = {"n_d": 4, "n_a": 4, "n_steps": 2, "verbose": 0, "seed": 0, "device_name": "cpu"}
batches = {"batch_size": 64, "virtual_batch_size": 32, "num_workers": 0}
classifier = TabNetClassifier(**options)
classifier.fit(x, kind, eval_set=[(x, kind)], max_epochs=3, drop_last=False, **batches)
print([f"{loss:.5f}" for loss in classifier.history["loss"]])
print([f"{each:.4f}" for each in classifier.predict_proba(x[:3]).ravel()])
print([f"{each:.4f}" for each in classifier.feature_importances_])
regressor = TabNetRegressor(**options)
regressor.fit(x, x[:, :1] * 2, max_epochs=3, **batches)
print([f"{loss:.5f}" for loss in regressor.history["loss"]])
pretrainer = TabNetPretrainer(**options)
pretrainer.fit(x, max_epochs=2, **batches)
print([f"{loss:.5f}" for loss in pretrainer.history["loss"]])
