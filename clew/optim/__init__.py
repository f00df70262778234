"""`torch.optim`'s names: optimizers, learning rate schedulers, averaged models."""

from typing import TYPE_CHECKING

from clew.aliasing import explain_missing, on_request
from clew.optim._adafactor import Adafactor
from clew.optim._muon import Muon
from clew.optim.adadelta import Adadelta
from clew.optim.adagrad import Adagrad
from clew.optim.adam import Adam
from clew.optim.adamax import Adamax
from clew.optim.adamw import AdamW
from clew.optim.asgd import ASGD
from clew.optim.lbfgs import LBFGS
from clew.optim.nadam import NAdam
from clew.optim.optimizer import Optimizer
from clew.optim.radam import RAdam
from clew.optim.rmsprop import RMSprop
from clew.optim.rprop import Rprop
from clew.optim.sgd import SGD
from clew.optim.sparse_adam import SparseAdam

if TYPE_CHECKING:
    from clew.optim import lr_scheduler, swa_utils

__all__ = [
    "Adafactor", "Adadelta", "Adagrad", "Adam", "Adamax", "AdamW", "ASGD", "LBFGS",
    "lr_scheduler", "Muon", "NAdam", "Optimizer", "RAdam", "RMSprop", "Rprop", "SGD",
    "SparseAdam", "swa_utils",
]  # fmt: skip

# Programs find optimizers by their names in `vars(optim)`: they are there from the beginning.
__getattr__, __dir__ = on_request(__name__, {"lr_scheduler", "swa_utils"})
explain_missing(__name__)
