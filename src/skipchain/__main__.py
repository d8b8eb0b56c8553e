"""``python -m skipchain`` is the command line."""

from skipchain.cli import main

main()
