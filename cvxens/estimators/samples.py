"""Samples that estimators are fitted to: checked features, encoded classes, prices, and weak learners on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from itertools import pairwise
from operator import attrgetter
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, compute_sample_weight, get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from cvxens import validation
from cvxens.colgen import Formulation, Oracle
from cvxens.colgen.oracles import (
    AdditiveTerms,
    Boxes,
    DepthThreeTrees,
    DepthTwoTrees,
    Fourier,
    KernelColumns,
    PairRules,
    ParallelPerceptrons,
    Perceptrons,
    Pool,
    QuantileStumps,
    Ramps,
    SklearnLearner,
    Stumps,
    Trees,
)
from cvxens.colgen.protocols import list_parameters
from cvxens.errors import InvalidInput, refusing
from cvxens.hypotheses import Among, Branch, Interval, LevelStump, Rule, Scaled, SignedTree, Stump
from cvxens.rounding import LARGEST
from cvxens.tables import Feature, encode, find_words, is_frame, learn_features
from cvxens.types import Array, Data, Given, Indices, Labels, Mask, Matrix, Numbers


@dataclass(frozen=True)
class Accepts:
    """The kinds of features that a method can take beyond dense finite numbers."""

    sparse: tuple[str, ...] = ()  # formats of sparse matrices; others become the first of them
    missing: bool = False  # NaN as a missing value
    nominal: bool = False  # data frames with nominal columns, whose codes X gets, and whose kinds `features_`

    def read(self, estimator: object, X: Data, *y: Data, reset: bool = False, **more: object) -> Any:
        """Check X, and y if given, as scikit-learn's `validate_data` does; short types of numbers are kept.

        Unless `reset`, features have to be those that the estimator was fitted to.
        """
        return self._checked(estimator, self._coded(estimator, X, reset=reset), *y, reset=reset, **more)

    def read_targets(self, estimator: object, X: Data, y: Data, *, reset: bool) -> tuple[Matrix, Array]:
        """Check X, and targets that are numbers, which are returned as floats; moments add up with none."""
        with refusing("y", "found targets that are no numbers", "give a number each", (TypeError, ValueError)):
            given = np.asarray(y)
            given = given.astype(np.float64) if given.dtype.kind in "OSU" else given + 0.0
        read, targets = self.read(estimator, X, None if y is None else given, reset=reset, y_numeric=True)
        size = float(np.abs(targets := targets.astype(np.float64)).max())
        if size and not 1 / LARGEST < size < LARGEST:
            raise InvalidInput("y", f"found targets of up to {size:.3g}", "give them in other units: squares count")
        return read, targets

    def _coded(self, estimator: BaseEstimator, X: Data, *, reset: bool) -> Any:
        """Return X, with codes in place of the categories that the estimator has learnt of it, or learns now.

        The columns of a table become features by the encoder that the estimator was given with it, `encoder_`.
        """
        if reset:
            vars(estimator).pop("encoder_", None)
        elif "encoder_" in vars(estimator):
            X = estimator.encoder_.accept(X)
        if not self.nominal:
            return X
        if reset:
            vars(estimator).pop("features_", None)
            if not isinstance(X, np.ndarray):
                features, X = learn_features(X)
                vars(estimator).update({} if features is None else {"features_": features})
            return X
        if "features_" not in vars(estimator):
            return X
        if is_frame(X):
            # the names of its columns, which are matched next
            validate_data(estimator, X, skip_check_array=True, reset=False)
        return encode(estimator.features_, X)

    def _checked(self, estimator: BaseEstimator, *data: Any, **more: Any) -> Any:
        """Check X, and y if given, by `validate_data`; where X has no numbers, name the columns of a table at fault."""
        try:
            kinds = {"ensure_all_finite": "allow-nan" if self.missing else True, "dtype": "numeric"}
            found = validate_data(estimator, *data, accept_sparse=list(self.sparse) or False, **kinds, **more)
            return (self._numbers(found[0]), *found[1:]) if isinstance(found, tuple) else self._numbers(found)
        except InvalidInput:
            raise
        except OverflowError as error:
            raise InvalidInput("X", f"found a number that is too large ({error})", "give float64 numbers") from None
        except ValueError as error:
            words = find_words(data[0]) if is_frame(data[0]) else ()
            if words:
                remedy = "code them by a OneHotEncoder in a ColumnTransformer, or take stumps or trees as weak learners"
                raise InvalidInput("X", f"found no numbers in the columns {', '.join(words[:5])}", remedy) from None
            if "convert string" in str(error):
                raise InvalidInput("X", f"found words in an array ({error})", "give numbers, or a data frame") from None
            if str(error) == "Input contains NaN":
                raise InvalidInput("y", "found labels that are missing", "leave out the samples without one") from None
            raise

    def _numbers(self, X: Matrix) -> Matrix:
        """Return X if it is of numbers; of a table with columns of several types, make some."""
        if X.dtype.kind in "mM":
            raise InvalidInput("X", f"found values of type {X.dtype}", "give numbers, such as days since a date")
        if X.dtype.kind != "O":
            return X
        return check_array(X, ensure_all_finite="allow-nan" if self.missing else True, dtype=np.float64, input_name="X")


@dataclass(frozen=True, eq=False)
class Sensitive:
    """What samples are told apart by, beside their features: columns of codes, with the values that these stand for."""

    codes: Indices  # (n_samples, n_columns)
    levels: tuple[NDArray[Any], ...]
    names: tuple[str, ...]  # of the columns; none where they had none

    @classmethod
    def read(cls, given: Any, n_samples: int) -> Sensitive:
        """Read an array (n_samples,) or (n_samples, n_columns), a data frame or a column of one."""
        names = tuple(map(str, given.columns)) if is_frame(given) else ()
        table = np.asarray(given, dtype=object) if names else np.asarray(given)
        table = table[:, np.newaxis] if table.ndim == 1 else table
        if table.ndim != 2 or len(table) != n_samples or not table.shape[1]:
            found = f"found shape {np.shape(given)} for {n_samples} samples"
            raise InvalidInput("sensitive_features", found, "give a value, or a row of values, for every sample")
        parts = []
        for values in table.T:
            if any(value is None or str(value) in {"nan", "NaN", "NaT", "<NA>"} for value in values.tolist()):
                raise InvalidInput("sensitive_features", "found missing values", "give a level of its own to these")
            try:
                parts.append(np.unique(values, return_inverse=True))
            except TypeError:
                parts.append(np.unique(values.astype(str), return_inverse=True))
        return cls(np.column_stack([codes for _, codes in parts]), tuple(levels for levels, _ in parts), names)

    def take(self, rows: NDArray[Any]) -> Sensitive:
        """Return what is known of some of the samples."""
        return Sensitive(self.codes[rows], self.levels, self.names)

    def find_groups(self, name: object) -> tuple[list[str], Indices] | None:
        """Return what the groups of a column are called, of all columns where no name is given, and those of samples.

        None for the name of no column.
        """
        if name is None:
            chosen = list(range(self.codes.shape[1]))
        elif name in self.names:
            chosen = [self.names.index(name)]
        else:
            return None
        rows, of_sample = np.unique(self.codes[:, chosen], axis=0, return_inverse=True)
        values = [[self.levels[k][code] for k, code in zip(chosen, row, strict=True)] for row in rows.tolist()]
        return [", ".join(map(str, each)) for each in values], np.ravel(of_sample)


@dataclass(frozen=True)
class Weighted:
    """A training sample without the samples of weight 0, and how the given samples are part of it."""

    X: Any  # (n_kept, n_features), dense or sparse
    _: KW_ONLY
    weights: Array  # (n_kept,), above 0: the factors of samples times those of classes, which multiply prices
    masses: Array  # (n_kept,), above 0: the factors of samples alone, which weigh statistics of X, such as variances
    places: Indices  # (n_samples,), the kept sample that each given one is part of
    shares: Array  # (n_samples,), the share of each given sample in the weight of that; 0 where its weight is 0
    features: tuple[Feature, ...] | None = None  # the features of a data frame with nominal columns, whose codes X has
    names: tuple[str, ...] = ()  # of the columns of X, where they have any
    queries: Indices | None = None  # (n_kept,), of each the number of its query, where there are any
    sensitive: Sensitive | None = None  # (n_kept,), what samples are told apart by beside their features

    of_samples: ClassVar[tuple[str, ...]] = ()
    """The fields of a subclass that have an entry for each sample."""
    strata: ClassVar[Any] = None
    """The labels, of which folds have as many of each as the sample has; None where folds are any."""
    given: ClassVar[Any] = None
    """The targets as they were given, (n_kept,), some of which every fold trains on; None where there are no folds."""
    combinations: ClassVar[Any] = None
    """The matrix from the samples to the rows that a loss is of; None where these are the samples."""

    def tell_apart(self, given: object) -> Self:
        """Return the sample with what its samples are told apart by beside their features."""
        kept = np.flatnonzero(self.shares)
        return replace(self, sensitive=Sensitive.read(given, len(self.places)).take(kept))

    @property
    def known(self) -> dict[str, Any]:
        """The fitted attributes that the sample says by itself."""
        return {}

    @property
    def outcomes(self) -> tuple[str, Array]:
        """The name and the values of what a table of rules gives the mean of: the targets."""
        return "mean", self.given

    def _take(self, rows: Indices, **others: object) -> Self:
        """Return the kept samples of these numbers, with other values of some fields."""
        taken = {name: vars(self)[name][rows] for name in ("X", "weights", "masses", *self.of_samples)}
        sensitive = None if self.sensitive is None else self.sensitive.take(rows)
        return replace(self, **{**taken, "sensitive": sensitive, **others})

    def part(self, rows: Mask) -> Self:
        """Return some of the kept samples."""
        places = np.where(rows, np.cumsum(rows) - 1, 0)[self.places]
        return self._take(np.flatnonzero(rows), places=places, shares=self.shares * rows[self.places])

    def merge(self) -> Self:
        """Make one sample of those that are alike, features and targets, with the sum of their weights.

        A convex loss `sum_i C_i phi(z_i)` and its optimum are unchanged, and independent of the order of the given
        samples and of the sparsity of X. A given sample has `C_i / sum C` of the merged one's multiplier: see `spread`.
        """
        alike: Any = 0
        for each in (_keys(self.X), *(vars(self)[name] for name in self.of_samples)):
            codes = np.unique(each, return_inverse=True)[1]
            alike = alike * (int(codes.max()) + 1) + codes
        if self.sensitive is not None:
            each = np.column_stack([alike, self.sensitive.codes])
            alike = np.ravel(np.unique(each, axis=0, return_inverse=True)[1])
        _, first, group = np.unique(alike, return_index=True, return_inverse=True)
        weights, masses = np.bincount(group, self.weights), np.bincount(group, self.masses)
        places = group[self.places]
        shares = self.shares * self.weights[self.places] / weights[places]
        return self._take(first, weights=weights, masses=masses, places=places, shares=shares)

    def spread(self, u: Array) -> Array:
        """Hand multipliers of the kept samples, (n_kept,) or n_outputs for each, back to the given ones."""
        u = u if len(u) == len(self.weights) else u.reshape(len(self.weights), -1)
        return (u[self.places].T * self.shares).T


@dataclass(frozen=True)
class TargetSample(Weighted):
    """A training sample of a regression."""

    targets: Array  # (n_kept,)

    of_samples: ClassVar[tuple[str, ...]] = ("targets",)
    given = property(attrgetter("targets"))

    @classmethod
    def read(
        cls, estimator: object, X: Data, y: Data, accepts: Accepts, *, sample_weight: Given = None, reset: bool = True
    ) -> TargetSample:
        """Check and encode a sample; unless `reset`, its features have to be those that the estimator was fitted to."""
        read, targets = accepts.read_targets(estimator, X, y, reset=reset)
        weights = validation.weights("sample_weight", sample_weight, len(targets))
        return cls(**keep_weighted(estimator, read, weights, targets=targets))


@dataclass(frozen=True)
class Sample(Weighted):
    """A training sample of a classification."""

    labels: Indices  # (n_kept,), indices into the classes
    classes: Labels  # (n_classes,), sorted

    of_samples: ClassVar[tuple[str, ...]] = ("labels",)

    @classmethod
    def read(
        cls, estimator: object, X: Data, y: Data, accepts: Accepts, *, sample_weight: Given = None, reset: bool = True
    ) -> Sample:
        """Check and encode a sample; unless `reset`, its features have to be those that the estimator was fitted to."""
        read, given = accepts.read(estimator, X, y, reset=reset)
        try:
            check_classification_targets(given)
        except TypeError as error:
            found = f"found labels without an order ({error})"
            raise InvalidInput("y", found, "give all numbers or all words") from None
        masses = validation.weights("sample_weight", sample_weight, len(given))
        weights = masses * class_factors(vars(estimator).get("class_weight"), given, masses)
        classes, labels = np.unique(given[weights > 0], return_inverse=True)
        if len(classes) < 2:
            raise InvalidInput("y", f"found {len(classes)} class of positive weight", "give samples of two or more")
        return cls(**keep_weighted(estimator, read, masses, weights), labels=labels, classes=classes)

    @property
    def known(self) -> dict[str, Any]:
        """The classes, as a fitted attribute."""
        return {"classes_": self.classes}

    strata = property(attrgetter("labels"))

    @property
    def outcomes(self) -> tuple[str, Array]:
        """The name and the values of what has a mean for every class alike: 1 for the most frequent one, else 0."""
        return "share", (self.labels == np.bincount(self.labels, self.weights).argmax()).astype(np.float64)

    @property
    def signs(self) -> Array:
        """-1 for the first class, +1 for every other, shape (n_kept,)."""
        return np.where(self.labels > 0, 1.0, -1.0)

    def against_rest(self, k: int) -> Sample:
        """Return the sample of a sub-problem, of label 1 for the class k and 0 for the others."""
        return replace(self, labels=(self.labels == k).astype(np.intp), classes=np.arange(2))

    @property
    def given(self) -> Labels:
        """The classes of the samples, (n_kept,), as they were given."""
        return self.classes[self.labels]


def keep_weighted(
    estimator: object, X: Matrix, masses: Array, weights: Array | None = None, **of_samples: Labels
) -> dict[str, Any]:
    """Return the fields of a sample without the given samples of weight 0."""
    weights = masses if weights is None else weights
    kept = weights > 0
    return {
        "X": X if kept.all() else X[np.flatnonzero(kept)],
        "places": np.where(kept, np.cumsum(kept) - 1, 0),
        "shares": kept.astype(np.float64),
        "features": vars(estimator).get("features_"),
        "names": tuple(vars(estimator).get("feature_names_in_", ())),
        **{name: values[kept] for name, values in {"weights": weights, "masses": masses, **of_samples}.items()},
    }


def label(formulation: Formulation, sample: Any) -> Array | None:
    """Return the labels of a sample as a formulation wants them; None for one on scores, which holds targets."""
    return None if formulation.on_scores else sample.signs


def class_factors(class_weight: object, y: Labels, masses: Array) -> Array:
    """Return the factor that `class_weight` has for each sample, (n_samples,).

    "balanced" gives all classes of positive mass the same sum of mass times factor, and leaves the sum over all samples
    what it is.

    Examples
    --------
    >>> class_factors("balanced", np.array([0, 0, 1]), np.array([1.0, 2.0, 1.0])).round(3)
    array([0.667, 0.667, 2.   ])
    """
    if class_weight is None:
        return np.ones(len(y))
    if isinstance(class_weight, str) and class_weight == "balanced":
        _, labels = np.unique(y, return_inverse=True)
        totals = np.bincount(labels, masses)
        present = totals > 0
        return np.divide(totals.sum() / present.sum(), totals, out=np.zeros_like(totals), where=present)[labels]
    if not isinstance(class_weight, Mapping):
        remedy = "give None, 'balanced', or a dict from classes to numbers"
        raise InvalidInput("class_weight", f"found {class_weight!r:.100}", remedy)
    for factor in class_weight.values():
        if validation.number("class_weight", factor) < 0:
            raise InvalidInput("class_weight", f"found {factor!r}", "give numbers of 0 or above")
    with refusing("class_weight", f"found {class_weight!r:.100}", "name the classes of y"):
        return compute_sample_weight(class_weight, y)


def _keys(X: Matrix) -> Labels:
    """Return keys (n_samples,) that are equal exactly where rows of X are, and ascend as the rows do; -0 is 0.

    So the order of rows depends neither on the sparsity of X nor on the scale of its features.
    """
    if issparse(X):
        return _keys_of_sparse(csr_array(X))
    X = _rank(np.ascontiguousarray(X))
    return X.view(np.dtype((np.void, X.dtype.itemsize * X.shape[1])))[:, 0]


def _keys_of_sparse(rows: csr_array) -> Labels:
    """Return words of bytes whose order is that of the rows, compared from the first feature on.

    A value above 0 makes a row larger than all that have a 0 there, the more so the earlier it comes; one below 0 makes
    it smaller. So a value is a syllable of its sign (0 or 2), its feature, counted backwards where the sign is +, and
    its rank; the end of a row, from which on all is 0, is a syllable between both signs: 1.
    """
    rows = rows.copy() if not rows.has_canonical_format else rows
    rows.sum_duplicates()
    kept = rows.data != 0
    starts = np.concatenate([[0], np.cumsum(kept)])[rows.indptr]
    values, features = rows.data[kept], rows.indices[kept].astype(np.int64)
    above = values > 0
    signs = np.where(above, 2, 0).astype(np.uint8)
    places = np.where(above, np.iinfo(np.int64).max - features, features).astype(">u8")
    syllables = np.concatenate([part[:, np.newaxis].view(np.uint8) for part in (signs, places, _rank(values))], axis=1)
    words = np.empty(rows.shape[0], object)
    words[:] = [syllables[a:b].tobytes() + b"\x01" for a, b in pairwise(starts)]
    return words


def _rank(X: Numbers) -> Numbers:
    """Return big-endian integers without a sign in the order of the numbers of X."""
    X = X.astype(np.float64) if X.dtype == np.longdouble else X
    size = X.dtype.itemsize
    if X.dtype.kind not in "fi":
        return X.astype(f">u{size}")
    # adding 0 makes 0 of -0
    bits = (X + X.dtype.type(0)).view(f"i{size}")
    last = np.iinfo(bits.dtype).max
    bits = np.where(bits < 0, bits ^ last, bits) if X.dtype.kind == "f" else bits
    return (bits ^ np.iinfo(bits.dtype).min).view(f"u{size}").astype(f">u{size}")


def recode(hypotheses: Iterable[Any], features: tuple[Feature, ...] | None) -> tuple[Any, ...]:
    """Return hypotheses on another sample of the same columns: levels are known by their names, not by their codes.

    Those are left out whose levels the sample has not, and those of features that are no longer of their kind.
    """
    kinds = dict(enumerate(features or ()))
    found = (_recode(hypothesis, kinds) for hypothesis in hypotheses)
    return tuple(hypothesis for hypothesis in found if hypothesis is not None)


def _recode(hypothesis: object, kinds: Mapping[int, Feature]) -> Any:
    match hypothesis:
        case Scaled() | Branch():
            parts = [_recode(part, kinds) for part in vars(hypothesis).values()]
            return None if None in parts else type(hypothesis)(*parts)
        case Stump() | Interval():
            nominal = hypothesis.feature in kinds and kinds[hypothesis.feature].categories is not None
            return None if nominal else hypothesis
        case LevelStump() | Among() if hypothesis.levels:
            categories = (kinds[hypothesis.feature].categories if hypothesis.feature in kinds else None) or ()
            known = [(categories.index(name), name) for name in hypothesis.names if name in categories]
            if not known:
                return None
            levels, names = zip(*sorted(known), strict=True)
            if isinstance(hypothesis, Among):
                return hypothesis._replace(levels=levels, names=names)
            return replace(hypothesis, levels=levels, names=names)
        case Rule():
            parts = [_recode(condition, kinds) for condition in hypothesis.intervals]
            return None if None in parts else Rule(tuple(parts), hypothesis.sign)
        case SignedTree() if hypothesis.coded:
            return hypothesis if hypothesis.tree.features == tuple(kinds.values()) else None
    return hypothesis


OracleFactory: TypeAlias = Callable[..., Oracle]
"""Makes an oracle from the features of the training sample: `Stumps`, ``partial(Perceptrons, refined=1)``, ..."""

ORACLES: Mapping[str, OracleFactory] = {
    "stumps": Stumps,
    "quantile_stumps": QuantileStumps,
    "perceptrons": Perceptrons,
    "fourier": Fourier,
    "depth_two_trees": DepthTwoTrees,
    "depth_three_trees": DepthThreeTrees,
    "pair_rules": PairRules,
    "boxes": Boxes,
    "additive": AdditiveTerms,
    "ramps": Ramps,
    "trees": Trees,
}
"""The oracles that have a name."""

ACCEPTS: Mapping[Any, Accepts] = {
    Stumps: Accepts(sparse=("csc",), missing=True, nominal=True),
    QuantileStumps: Accepts(sparse=("csc",), missing=True, nominal=True),
    **dict.fromkeys((DepthTwoTrees, DepthThreeTrees, PairRules, Boxes), Accepts(sparse=("csc",), missing=True)),
    Trees: Accepts(missing=True, nominal=True),
    AdditiveTerms: Accepts(missing=True, nominal=True),
    **dict.fromkeys((Perceptrons, ParallelPerceptrons, Fourier, KernelColumns, Pool, Ramps), Accepts()),
}
"""The features that the library's oracles take beyond dense finite numbers."""

AS_GIVEN = ("csr", "csc")
"""The formats of sparse matrices that others' oracles and learners are handed as they are."""

REMEDY = f"give one of {', '.join(map(repr, ORACLES))}, or a function from X to an oracle"
"""The remedy for a parameter `oracle` that makes none."""


def find_factory(oracle: str | OracleFactory) -> partial[Oracle] | None:
    """Return what makes an oracle, by a name or as a function, with what is bound of it; None of what makes none."""
    factory: Any = ORACLES.get(oracle) if isinstance(oracle, str) else oracle
    if isinstance(factory, partial):
        return factory
    return partial(factory) if callable(factory) else None


def find_accepted(oracle: str | OracleFactory) -> Accepts:
    """Return what X may be: a partial function takes what its function does, a learner of scikit-learn by its tags.

    A foreign oracle is handed sparse matrices as they are; what it cannot take, it has to refuse itself.
    """
    factory = find_factory(oracle)
    if factory is None:
        return Accepts()
    if factory.func is SklearnLearner:
        learners = [given for given in factory.args if isinstance(given, BaseEstimator)]
        if not learners:
            return Accepts()
        tags = get_tags(learners[0]).input_tags
        return Accepts(sparse=AS_GIVEN if tags.sparse else (), missing=tags.allow_nan)
    for kind, found in ACCEPTS.items():
        if isinstance(factory.func, type) and issubclass(factory.func, kind):
            return found
    return Accepts(sparse=AS_GIVEN)


def offers(oracle: str | OracleFactory, parameter: str) -> bool:
    """Return True if an oracle takes a parameter that is not bound yet.

    Examples
    --------
    >>> offers("stumps", "signs"), offers("perceptrons", "signs")
    (True, False)
    """
    factory = find_factory(oracle)
    return factory is not None and parameter in list_parameters(factory) and parameter not in factory.keywords


def make_oracle(
    oracle: str | OracleFactory, sample: Any, *, columns_per_round: int | None = None, **offered: object
) -> Oracle:
    """Make an oracle over a training sample.

    The arguments that are offered, with the features, masses and number of cases of the sample, go to an oracle that
    takes them, unless they are None or bound by a partial function; `columns_per_round` has to be taken if given.
    """
    factory = find_factory(oracle)
    takes = list_parameters(factory)
    if factory is None or not takes:
        raise InvalidInput("oracle", f"found {oracle!r:.100}", REMEDY)
    validation.random_state(offered.get("random_state"))
    # cases are given samples of positive weight, also those that were merged
    offered |= {"features": sample.features, "sample_weight": sample.masses, "n_cases": np.count_nonzero(sample.shares)}
    if sample.features is not None:
        offered = {"outcomes": sample.outcomes[1]} | offered
    chosen = {k: v for k, v in offered.items() if k in takes and k not in factory.keywords and v is not None}
    if columns_per_round is not None:
        if "columns_per_round" not in takes:
            found = f"found {columns_per_round!r} for an oracle that returns what it finds"
            raise InvalidInput("columns_per_round", found, "give None")
        chosen["columns_per_round"] = columns_per_round
    made = factory(sample.X, **chosen)
    if not hasattr(made, "price"):
        raise InvalidInput("oracle", f"found {oracle!r:.100}, which makes {made!r:.100}", REMEDY)
    return made
