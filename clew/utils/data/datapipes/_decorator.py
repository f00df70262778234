"""PyTorch's name for the module of `functional_datapipe`."""

from clew.utils.data.datapipes.datapipe import functional_datapipe as functional_datapipe
