"""The description that package indices show: the README without what only the repository has.

Images and relative links lead nowhere there. Everything else is in pyproject.toml.
"""

import re
from pathlib import Path

from setuptools import setup

# an image of the repository, and the caption in italics below it
IMAGE = re.compile(r"!\[[^\]]*\]\((?!https?://)[^)]*\)\n+(\*.*?\*\n\n)?", re.DOTALL)
LINK = re.compile(r"\[([^\]]+)\]\((?!https?://|#)[^)]*\)")

readme = Path(__file__).with_name("README.md").read_text(encoding="utf-8")
setup(long_description=LINK.sub(r"\1", IMAGE.sub("", readme)), long_description_content_type="text/markdown")
