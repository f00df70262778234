"""What clew runs on: its packages, other Pythons, other processors and systems.

Only `test_*.py` is part of `make test`; `make test-pythons` and `make test-arm64` run the others.
"""
