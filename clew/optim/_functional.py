"""The functional forms of the optimizers, in one place."""

# ruff: noqa: F401  (names are imported here to be found here)

from __future__ import annotations

from clew.optim._adafactor import adafactor
from clew.optim._muon import muon
from clew.optim.adadelta import adadelta
from clew.optim.adagrad import adagrad
from clew.optim.adam import adam
from clew.optim.adamax import adamax
from clew.optim.adamw import adamw
from clew.optim.asgd import asgd
from clew.optim.nadam import nadam
from clew.optim.radam import radam
from clew.optim.rmsprop import rmsprop
from clew.optim.rprop import rprop
from clew.optim.sgd import sgd
