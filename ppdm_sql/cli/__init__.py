"""The command line: one module a command, each with `run(arguments)`, which returns the exit code."""
