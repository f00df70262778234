"""What all tests share."""

import signal

# A background job of a shell ignores Ctrl-C, and so would the programs that tests start and
# interrupt: being ignored is inherited, being handled is not.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
