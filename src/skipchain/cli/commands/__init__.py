"""The commands, one module each; what several of them share belongs to `skipchain.cli`."""
