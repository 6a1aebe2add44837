"""The command `cvxens`, as ``python -m cvxens`` where no script is on the path."""

from cvxens.cli import main

if __name__ == "__main__":
    main()
