"""`python -m clew`: the `clew` command."""

import sys

from clew.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
