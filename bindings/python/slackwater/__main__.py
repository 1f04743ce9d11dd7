"""``python -m slackwater``: the command line."""

import sys

from slackwater.cli import main

if __name__ == "__main__":
    sys.exit(main())
