"""Notebooks of one idea each: percent scripts, paired with the .ipynb that show their outputs."""
