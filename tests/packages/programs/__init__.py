"""Programs over packages of the PyTorch ecosystem, which run by clew and with PyTorch."""
