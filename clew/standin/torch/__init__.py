"""Found instead of PyTorch by processes that a program under `clew run` starts.

Such a process inherits `sys.path`, with this folder in front of installed packages, but not what
was imported. The first `import torch` there runs this file, after which `torch` is clew.
"""

from clew.aliasing import install

install()
