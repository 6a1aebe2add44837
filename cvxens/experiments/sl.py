"""What the tables of SL have in common: stumps, grids, and partitions of its two families of data."""

from __future__ import annotations

from collections.abc import Mapping

from cvxens.experiments.splits import Partitioned, PerClass, Realised, Source

ROUNDS = (25, 50, 100, 250, 500)
"""The numbers of iterations that are tried."""

PRICES = tuple(10.0**k for k in range(-4, 2))
"""The grid of C, which the paper does not say."""

REALISED: Mapping[str, Source] = {
    name: Realised(theirs)
    for name, theirs in {
        "banana": "banana",
        "b-cancer": "breast-cancer",
        "diabetes": "diabetes",
        "f-solar": "flare-solar",
        "german": "german",
        "heart": "heart",
        "image": "image",
        "ringnorm": "ringnorm",
        "splice": "splice",
        "thyroid": "thyroid",
        "titanic": "titanic",
        "twonorm": "twonorm",
        "waveform": "waveform",
    }.items()
}
"""The collection of Raetsch."""

OTHER_REALISATIONS = {
    **dict.fromkeys(
        ("diabetes", "f-solar", "splice", "thyroid"),
        "the samples are the collection's, the published partitions were not found: ours are random and of their sizes",
    ),
    "twonorm": "after the first published partition, ours are random and of its sizes",
}

POOLED: Mapping[str, Source] = {
    name: Partitioned(name.lower(), 0.75) for name in ("wine", "iris", "glass", "vehicle", "DNA", "vowel", "segment")
}
"""UCI's sets of several classes: all samples, 75 % to train on."""

IMAGES: Mapping[str, Source] = {"MNIST": PerClass("mnist", 1000), "USPS": Partitioned("usps", 0.75)}
"""The sets of images that are in the data directory."""
