"""The estimators over shards, with the conventions of Dask's ecosystem: collections in, lazy predictions out.

On many rows most steps only find out roughly which weak learners are wanted, and how much of each; a part of the rows
says that as well. So a sample drawn from all shards is solved first, where the client is. Rows are drawn by their
number, so that start and fit are the same bits whatever the shards are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from math import ceil, inf
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar, Self, final

import dask.array as da
import numpy as np
from dask.base import is_dask_collection
from dask.delayed import delayed
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from cvxens import validation
from cvxens.certificates import Certificate, Round
from cvxens.colgen import Checkpoint, Formulation, Step, formulations
from cvxens.colgen.loop import RunLimits, Search
from cvxens.colgen.masters.newton_masters import WIDEST
from cvxens.colgen.oracles.stumps import count_parts
from cvxens.dask.masters import ShardedMaster, ShardedRestricted, Start
from cvxens.dask.shards import (
    Census,
    Rows,
    Shard,
    ShardedSample,
    Workers,
    align,
    check_meta,
    check_rows,
    combine_extremes,
    draw_rows,
    merge_censuses,
    read_numbers,
    read_part,
    summarise_features,
)
from cvxens.dask.stumps import DaskQuantileStumps, DaskStumps
from cvxens.dask.tallies import Places, add, combine_each, find_extremes, join, sum_exactly, to_float
from cvxens.dask.votes import VotedStumps
from cvxens.errors import CvxensError, InvalidInput, WorkersLost
from cvxens.estimators.base import LEARNT_OF_X, Classifier, estimator, join_parts, time_limit, warn_of_run
from cvxens.estimators.classifiers import (
    CGEnsClassifier,
    ColumnGenerationClassifier,
    LPBoostClassifier,
    price_slack,
    soft_margin,
)
from cvxens.features import Ints, find_middles
from cvxens.hypotheses import Constant, Hypothesis, Stump
from cvxens.limits import heed_interrupts, limit_time
from cvxens.problems.losses import SumOverSamples
from cvxens.types import Array, Data, Given, Labels, Numbers

if TYPE_CHECKING:
    from distributed import Client

WITHOUT_CHOICES: Mapping[str, Any] = {
    "cv_results_": None,
    "nu_": None,
    "prices_": {},
    "price_of_constraints_": None,
    "validation_losses_": None,
}
"""What a fit to one machine's sample says where nothing is chosen from it, constrained or held out."""

LOSSES = ("CommClosedError", "KilledWorker", "CancelledError", "FutureCancelledError", "ClosedClientError")
"""The errors of dask.distributed that tell of lost workers, by name, as it need not be there."""

ORACLES = ("stumps", "quantile_stumps")
"""The weak learners that can be priced over shards."""

MANY_ROWS = 2**18
"""Rows from which on some are solved first: with fewer it takes as long as the steps that it saves."""

N_DRAWN = 2**16
"""About so many rows are drawn; they are sent to the client, in single precision with 20 features 5 MB."""


@dataclass(eq=False, repr=False)
class DaskClassifier(ClassifierMixin, BaseEstimator, ABC):
    """A classifier whose sample is in shards on workers; more than two classes are problems of each against the rest.

    Parameters
    ----------
    client : distributed.Client, optional
        Whose workers hold the shards. By default the current client, and without one the threads of this machine.
    persist : bool or path
        True to keep the shards in the memory of the workers. For tables larger than that, a folder on a disk of this
        machine, where they are read and coded once, into files that stay until you remove them; or False, to read and
        code the collections again for every question. Then memory is needed for the shards that are worked on.

    Attributes
    ----------
    certificate_ : Certificate
        How far the classifier is at most from the optimum; its note says how many rows and shards it covers.
    client_ : distributed.Client or None
        The client of the fit.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    estimators_ : list of estimators
        Of more than two classes only: the classifiers of each class, in their order, against the rest, for the classes
        0 and 1. What a sub-problem is told of, such as `certificate_` and `weights_`, is then a list over them.
    """

    local: ClassVar[type[Classifier]]
    """The estimator of one machine, which documents what is the same here."""

    _: KW_ONLY
    tol: float = 1e-3
    max_time: float | None = None
    client: Client | None = None
    persist: bool | str | Path = True
    certificate_: Certificate = field(init=False)
    history_: tuple[Round, ...] = field(init=False)
    classes_: Labels = field(init=False)
    n_features_in_: int = field(init=False)
    feature_names_in_: Labels = field(init=False)

    def fit(self, X: Rows, y: Rows, sample_weight: Rows | None = None) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X : dask array or data frame of shape (n_samples, n_features)
            Finite numbers.
        y : dask array or series of shape (n_samples,)
            Two classes or more, up to 100. The problems of more than two are solved one after the other, on shards
            that are read and coded once.
        sample_weight : dask array or series of shape (n_samples,), optional
            Factors on the price of each sample's slack, 0 or above; a sample of weight 0 plays no part.

        Returns
        -------
        self
            Fitted; an estimator whose fit fails stays as it was.

        Raises
        ------
        InvalidInput
            Collections or parameters that cannot be worked with; it is a ValueError.
        WorkersLost
            The client, its scheduler or all workers are gone; it has the best state by then, of the problem that was
            being solved.
        """
        workers = Workers(self.client)
        best: list[Any] = []
        with translate_loss(best), limit_time(inf), heed_interrupts():
            sample = ShardedSample.from_collections(X, y, sample_weight, workers=workers, persist=self.persist)
            self._fit_sample(sample, best)
        return self

    def _fit_sample(self, sample: ShardedSample, best: list[Any]) -> None:
        """Solve the problem of a sample, or those of its classes, and take over the fitted attributes."""
        if len(sample.classes) == 2:
            found = self._solve(sample, best)
            certificate, covered = found["certificate_"], f"{len(sample):,} rows in {len(sample.shards)} shards"
            found["certificate_"] = replace(certificate, note=f"{certificate.note}, {covered}")
        else:
            parts = []
            for k, part in enumerate(self._make_parts(sample.classes, self._for_part)):
                part._fit_sample(sample.against_rest(k), best)
                parts.append(part)
            found = join_parts(parts, self.fitted)
        known = {"classes_": sample.classes, "client_": sample.workers.client, "n_features_in_": sample.shape[1]}
        names = {"feature_names_in_": np.array(sample.names, object)} if sample.names else {}
        self._adopt({**found, **known, **names})

    _adopt, _parts, _show, _make_parts = Classifier._adopt, Classifier._parts, Classifier._show, Classifier._make_parts

    def _for_part(self, k: int) -> dict[str, Any]:
        """Return the parameters of the problem of a class."""
        return dict(self.get_params(deep=False))

    @abstractmethod
    def _solve(self, sample: ShardedSample, best: list[Any]) -> dict[str, Any]:
        """Return the fitted attributes of two classes; `best` is to hold the best state as it comes."""

    def to_local(self) -> Classifier:
        """Return the estimator of one machine, fitted as this one is, with its sub-problems where there are several.

        It scores to the same bits, tells of itself and is saved as any other one; what it would know of single samples,
        such as `dual_weights_` or support vectors, stays with the shards.
        """
        check_is_fitted(self)
        local = self.local(**self._local_parameters())
        parts = [part.to_local() for part in vars(self).get("estimators_", ())]
        found = join_parts(parts, local.fitted) if parts else self._local_attributes()
        known = {name: vars(self)[name] for name in ("classes_", *LEARNT_OF_X) if name in vars(self)}
        local.__dict__.update(found | known)
        return local

    def _local_parameters(self) -> Mapping[str, Any]:
        """Return the parameters of the estimator of one machine."""
        known = self.local().get_params(deep=False)
        return {name: value for name, value in self.get_params(deep=False).items() if name in known}

    def _local_attributes(self) -> dict[str, Any]:
        """Return the fitted attributes of the estimator of one machine, of two classes."""
        return {name: value for name, value in vars(self).items() if name in self.local.fitted}

    def decision_function(self, X: Data) -> Array | da.Array:
        """Score samples, lazily where they are a collection.

        Parameters
        ----------
        X : dask array or data frame, or array-like, of shape (n_samples, n_features)
            As in `fit`.

        Returns
        -------
        dask array or ndarray of shape (n_samples,) or (n_samples, n_classes)
            Of two classes, positive for the second one; else one score per class.
        """
        local, n_parts = self.to_local(), len(self._parts())
        return self._map(X, partial(score_block, local), np.dtype(np.float64), n_parts if n_parts > 1 else 0)

    def predict(self, X: Data) -> Labels | da.Array:
        """Return the class of the largest score for each sample of X, lazily where it is a collection."""
        return self._map(X, partial(classify_block, self.to_local()), self.classes_.dtype)

    def score(self, X: Data, y: Data, sample_weight: Given = None) -> float:
        """Return the share of the samples, by their weights, whose class is predicted.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`, collections also of unknown chunks; or arrays of this machine.
        """
        if not is_dask_collection(X):
            return float(super().score(X, y, sample_weight))
        self._check_columns(X)
        told = delayed(partial(classify_block, self.to_local()), pure=False, traverse=False)
        answers = [delayed(count_right, pure=False)(told, *piece) for piece in align(X, y, sample_weight)[0]]
        census, sums = Workers(self.client).reduce(answers, partial(combine_each, (merge_censuses, add)))
        check_rows(census, self.n_features_in_)
        right, total = map(to_float, sums)
        if not total > 0:
            raise InvalidInput("X", "found no samples of positive weight", "give at least one")
        return right / total

    def _map(self, X: Any, function: Callable[[Any], Labels], dtype: np.dtype[Any], n_columns: int = 0) -> Any:
        """Apply a function to the rows of X, block by block; what it returns has no columns, or so many."""
        if not is_dask_collection(X):
            X = X if hasattr(X, "columns") else validation.finite_array("X", X, ndim=2)
            self._check_columns(X)
            return function(validation.finite_array("X", read_numbers("X", X), ndim=2))
        self._check_columns(X)
        check_meta("X", X)
        if not isinstance(X, da.Array):
            X = X.astype(np.float64).to_dask_array()
        X = X.rechunk({1: -1})
        if n_columns:
            chunks = X.chunks[0], (n_columns,)
            return X.map_blocks(function, chunks=chunks, dtype=dtype, meta=np.empty((0, 0), dtype))
        return X.map_blocks(function, drop_axis=1, dtype=dtype, meta=np.empty(0, dtype))

    def _check_columns(self, X: Any) -> None:
        """Raise unless X has the columns of the fit."""
        names, known = list(map(str, getattr(X, "columns", []))), list(vars(self).get("feature_names_in_", []))
        if names and known and names != known:
            raise InvalidInput("X", f"found the columns {names[:5]}", f"give those of the fit, {known[:5]}")
        if X.ndim != 2 or X.shape[1] != self.n_features_in_:
            found = f"found {X.shape[1]} features" if X.ndim == 2 else f"found {X.ndim} dimensions"
            raise InvalidInput("X", found, f"give samples of {self.n_features_in_} features, as in the fit")

    def __sklearn_is_fitted__(self) -> bool:
        return "certificate_" in vars(self)

    def __sklearn_clone__(self) -> Self:
        # a client is shared, not copied
        return type(self)(**self.get_params(deep=False))


def score_block(local: Any, block: Any) -> Array:
    """Score the samples of a block, of which there may be none, by a fitted estimator of one machine."""
    if not block.shape[0]:
        n_parts = len(local._parts())
        return np.zeros((0, n_parts) if n_parts > 1 else 0)
    return local._raw_scores(validation.finite_array("X", block, ndim=2))


def classify_block(local: Any, block: Any) -> Labels:
    """Return the classes of the samples of a block, those of the largest score."""
    return local._classes(score_block(local, block))


def count_right(classify: Callable[[Any], Labels], *piece: Any) -> tuple[Census, tuple[Ints, Ints]]:
    """Return what is known of rows, and exact sums of the weights of those that are classified rightly, and of all."""
    part = read_part(*piece)
    census = summarise_features(part)
    if census.bad:
        return census, (sum_exactly(np.zeros(0)),) * 2
    right = classify(part.values.T) == part.labels
    return census, (sum_exactly(np.where(right, part.weights, 0.0)), sum_exactly(part.weights))


@contextmanager
def translate_loss(best: list[Any]) -> Iterator[None]:
    """Raise `WorkersLost`, with the best state, where a client, a scheduler or workers are gone."""
    try:
        yield
    except (CvxensError, MemoryError):
        raise
    except Exception as error:
        kinds = {kind.__name__ for kind in type(error).__mro__}
        if not kinds & set(LOSSES):
            raise
        raise WorkersLost(f"{type(error).__name__}: {error!s:.200}", best[-1] if best else None) from error


def make_search(
    formulation: Formulation,
    oracle: DaskStumps | DaskQuantileStumps,
    start: Start | None = None,
    checkpoint: Checkpoint | None = None,
    callback: Callable[[Step], bool | None] | None = None,
) -> Search:
    """Return a run of column generation over the shards of an oracle."""
    sample: Any = oracle.sample
    return Search(
        formulation,
        oracle,
        sample,
        lambda *_: ShardedMaster(formulation, sample, start=start),
        partial(ShardedRestricted, formulation, sample),  # type: ignore[arg-type]
        () if start is None else start.hypotheses,
        checkpoint,
        callback,
    )


@dataclass(eq=False, repr=False)
class DaskEnsemble(DaskClassifier):
    """A weighted vote of stumps by column generation over shards.

    Parameters
    ----------
    checkpoint : Checkpoint or path, optional
        Where the state of a fit is written down; a fit that finds it goes on from there, on any number of workers. Of
        more than two classes each has a file of its own, with the number of the class behind the name.
    warm_start : bool
        True if the fit starts from the weak learners of the last one, on whatever sample of the same features, and from
        their weights; each sub-problem from its own, where the classes are the same.
    oracle : {"stumps", "quantile_stumps"}
        The weak learners: all middle stumps, or at most 32 a feature.

    Attributes
    ----------
    C_ : float
        The price of a unit of the loss of a sample of weight 1.
    """

    _: KW_ONLY
    columns_per_round: int | None = None
    max_columns: int | None = None
    checkpoint: str | Path | Checkpoint | None = None
    warm_start: bool = False
    weak_learners_: tuple[Hypothesis, ...] = field(init=False)
    C_: float = field(init=False)
    weights_: Array = field(init=False)
    intercept_: Array = field(init=False)

    @property
    @abstractmethod
    def oracle(self) -> str:
        """The name of the weak learners that are priced: a field of the classes below, which have their defaults."""

    @abstractmethod
    def _formulation(self, sample: ShardedSample) -> Formulation:
        """Return the problem of a sample, with the price of a row of weight 1."""

    def _oracle(self, sample: ShardedSample) -> DaskStumps | DaskQuantileStumps:
        kind = validation.one_of("oracle", self.oracle, ORACLES)
        most = self.columns_per_round
        if kind == "quantile_stumps":
            return DaskQuantileStumps(sample, **({} if most is None else {"columns_per_round": most}))
        several = count_parts(*sample.shape) if most is None else 1
        # closer than to a quarter of the tolerance bounds would not show in the gap
        return DaskStumps(sample, columns_per_round=most, per_feature=several, slack=self.tol / 4)

    def _solve(self, sample: ShardedSample, best: list[Any]) -> dict[str, Any]:
        def follow(step: Step) -> None:
            best[:] = [step.incumbent]

        began, limit = perf_counter(), time_limit(self)
        formulation, given = self._formulation(sample), self.checkpoint
        loss: Any = formulation.terms[0]
        checkpoint = given if given is None or isinstance(given, Checkpoint) else Checkpoint(given)
        oracle = self._oracle(sample)
        # a quarter of the time is for rows that are drawn
        start = self._start(oracle, formulation, limit / 4 if checkpoint is None else inf)
        search = make_search(formulation, oracle, start, checkpoint, follow)
        left = max(limit - (perf_counter() - began), limit / 2)
        run = search.run(RunLimits(tol=self.tol, max_columns=self.max_columns, max_time=left))
        warn_of_run(self, run)
        return {
            "certificate_": run.certificate,
            "history_": run.history,
            "weak_learners_": tuple(column.hypothesis for column in run.columns),
            "weights_": run.weights,
            "intercept_": np.asarray(run.intercept),
            "C_": float(np.max(loss.C)),
        }

    def _start(
        self, oracle: DaskStumps | DaskQuantileStumps, formulation: Formulation, max_time: float
    ) -> Start | None:
        """Return weights to begin with: those of the last fit where that is wanted, else those of some of many rows."""
        validation.instance("warm_start", self.warm_start, bool, np.bool_)
        sample = oracle.sample
        # of several sub-problems, the weak learners of each are with its own classifier
        if self.warm_start and "weights_" in vars(self) and self._parts() == [self]:
            if self.n_features_in_ != sample.shape[1]:
                found = f"found {sample.shape[1]} features for weak learners of {self.n_features_in_}"
                raise InvalidInput("X", found, "give samples of as many features as before, or set warm_start=False")
            start = Start(self.weak_learners_, self.weights_, float(self.intercept_), WIDEST)
        elif (drawn := draw_sample(sample)) is not None:
            loss: Any = formulation.terms[0]
            # the price at which drawn rows weigh what all do
            priced = replace(loss, C=loss.C * sample.total_weight / drawn.total_weight)
            search = make_search(replace(formulation, loss=priced), oracle.among(drawn))
            # farther than that is their optimum from the one of all rows
            run = search.run(RunLimits(tol=10 * self.tol, max_columns=self.max_columns, max_time=max_time))
            learners = tuple(column.hypothesis for column in run.columns)
            master: Any = search.master
            start = Start(learners, run.weights, float(run.intercept), master.distance)
        else:
            return None
        return snap_to_sample(start.among(oracle), sample)

    def _for_part(self, k: int) -> dict[str, Any]:
        parameters, given = super()._for_part(k), self.checkpoint
        if given is not None:
            path = Path(given.path if isinstance(given, Checkpoint) else given)
            own = path.with_name(f"{path.name}.{k}")
            parameters["checkpoint"] = replace(given, path=own) if isinstance(given, Checkpoint) else own
        return parameters

    def _local_attributes(self) -> dict[str, Any]:
        said = {name: value for name, value in WITHOUT_CHOICES.items() if name in self.local.fitted}
        return said | super()._local_attributes()


@final
@estimator
class DaskLPBoostClassifier(DaskEnsemble):
    """Soft-margin boosting over shards (LL08 P4): min sum w + C sum_i xi_i, margins of at least 1 - xi_i, w >= 0.

    The optimum is one over all stumps of all shards, and is certified; weak learners, weights and certificate are the
    same bits however the rows are cut into partitions, and whatever workers there are.

    Parameters
    ----------
    C : float, optional
        The price of a unit of slack of a sample of weight 1; by default that of one machine.
    nu : None
        The parameter of one machine, which is not searched for over shards; the error says how C stands for it.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = DaskLPBoostClassifier(C=0.01).fit(da.from_array(X, chunks=(200, 30)), da.from_array(y, chunks=200))
    >>> model.certificate_.holds(1e-3), model.certificate_.note
    (True, 'over every hypothesis of the oracle, 569 rows in 3 shards')
    >>> model.predict(da.from_array(X, chunks=(300, 30))).compute()[:3], model.to_local().predict(X[:3])
    (array([0, 0, 0]), array([0, 0, 0]))
    """

    source: ClassVar[str] = "LL08 P4; DBS02"
    local = LPBoostClassifier

    C: float | None = None
    _: KW_ONLY
    oracle: str = "stumps"
    nu: float | None = None

    def _formulation(self, sample: ShardedSample) -> Formulation:
        if self.nu is not None:
            remedy = "give C: its optimum U is that of nu = U / (C times the sum of sample weights), where rho = 1 / U"
            raise InvalidInput("nu", f"found {self.nu!r}", remedy)
        if self.C is not None:
            return formulations.soft_margin(validation.positive("C", self.C))
        return formulations.soft_margin(price_slack(sample.total_weight, to_float(sample.map_reduce(sum_positive))))


@final
@estimator
class DaskCGEnsClassifier(DaskEnsemble):
    """CGEns (SL) over shards: min 1/2 w'w + C sum_i xi_i, y_i (sum_j w_j h_j(x_i) + b) >= 1 - xi_i.

    Parameters
    ----------
    C : float
        Price of a unit of slack of a sample of weight 1.
    oracle : {"quantile_stumps"}
        The weak learners: at most 32 stumps a feature. An l2 penalty wants a finite set.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = DaskCGEnsClassifier(C=0.001).fit(da.from_array(X[:, :5], chunks=(200, 5)), da.from_array(y, chunks=200))
    >>> model.certificate_.holds(1e-3)
    True
    """

    source: ClassVar[str] = "SL Algorithm 1, (1), (8)"
    local = CGEnsClassifier

    C: float = 0.01
    _: KW_ONLY
    oracle: str = "quantile_stumps"

    def _oracle(self, sample: ShardedSample) -> DaskStumps | DaskQuantileStumps:
        validation.one_of("oracle", self.oracle, ORACLES[1:])
        return super()._oracle(sample)

    def _formulation(self, sample: ShardedSample) -> Formulation:
        return formulations.svm(validation.positive("C", self.C))


@final
@estimator
class DaskColumnGenerationClassifier(DaskEnsemble):
    """A formulation of your own over shards: a loss that is a sum over samples, with an l1 or a squared l2 penalty.

    Parameters
    ----------
    formulation : Formulation, or callable
        The hinge, or a smooth loss that is a sum over samples, such as `Logistic`, with one price, that of a sample of
        weight 1; and `L1` or, over "quantile_stumps", `SquaredL2`. Or, as on one machine, a function from the weights
        of the samples to it, whose prices are in proportion to these. By default LL08 P4 with an intercept and prices
        of 100 in sum.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_breast_cancer
    >>> from cvxens.problems.losses import Logistic
    >>> from cvxens.problems.penalties import L1
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = DaskColumnGenerationClassifier(Formulation(Logistic(0.05), L1(), intercept=True))
    >>> model.fit(da.from_array(X, chunks=(200, 30)), da.from_array(y, chunks=200)).certificate_.holds(1e-3)
    True
    """

    source: ClassVar[str] = "any formulation; by default LL08 P4"
    local = ColumnGenerationClassifier

    formulation: Formulation | Callable[[Array], Formulation] = soft_margin
    _: KW_ONLY
    oracle: str = "stumps"

    def _formulation(self, sample: ShardedSample) -> Formulation:
        given: Any = self.formulation
        if callable(given) and not isinstance(given, type):
            formulation = price_samples(given, sample.total_weight)
        else:
            validation.instance("formulation", given, Formulation)
            formulation = given
        if formulation.terms[1].ridge is not None and self.oracle != "quantile_stumps":
            remedy = "take 'quantile_stumps', a finite set, as squared weights spread over all that are nearly alike"
            raise InvalidInput("oracle", f"found {self.oracle!r} with a squared l2 penalty", remedy)
        return formulation

    def _local_attributes(self) -> dict[str, Any]:
        # no formulation over shards has variables of its own
        decide = self.formulation.decide if isinstance(self.formulation, Formulation) else None
        return {**super()._local_attributes(), "variables_": {}, "_decide": decide}


def sum_positive(shard: Shard) -> Ints:
    """Return the exact sum of the weights of the class +1."""
    return sum_exactly(shard.weights[shard.y > 0])


def price_samples(function: Callable[[Array], Any], total_weight: float) -> Formulation:
    """Return the formulation of a function of the weights, with the price of a sample of weight 1.

    The function is asked about samples of this total weight: a single one, and two.
    """
    whole, parts = (function(total_weight * np.array(shares)) for shares in ([1.0], [0.25, 0.75]))
    if not isinstance(whole, Formulation) or not isinstance(whole.terms[0], SumOverSamples):
        remedy = "give a Formulation whose loss has a price C, or a function to one"
        raise InvalidInput("formulation", f"found a function to {whole!r:.100}", remedy)
    loss: Any = whole.terms[0]
    price = float(np.sum(loss.C))
    if not np.allclose(parts.terms[0].C, price * np.array([0.25, 0.75]), rtol=1e-12, atol=0.0):
        remedy = "let its prices be in proportion to the weights; over shards no other function of these is known"
        raise InvalidInput("formulation", f"found prices {parts.terms[0].C} of weights in proportion 1 : 3", remedy)
    return replace(whole, loss=replace(loss, C=price / total_weight))


def draw_sample(sample: ShardedSample) -> ShardedSample | None:
    """Draw rows by their numbers, as a sample of this process; None where there are few, or they are of one kind."""
    if len(sample) < MANY_ROWS:
        return None
    counts = sample.counts
    firsts, share = (np.cumsum(counts) - counts).tolist(), N_DRAWN / float(counts.sum())
    values, y, weights = sample.map_reduce(take_drawn, share, each=firsts, combine=join)
    if len(np.unique(y)) < 2 or (np.ptp(values, axis=1) == 0).all():
        return None
    # rows that a thread of the client works on at a time
    chunk = min(2**15, ceil(len(y) / 2))
    rows = (da.from_array(own, chunks=(chunk, *own.shape[1:]), name=False) for own in (values.T, y, weights))
    return ShardedSample.from_collections(*rows, workers=Workers.here())


def take_drawn(shard: Shard, first: int, share: float) -> tuple[Numbers, ...]:
    """Return values, signs and weights of the rows of a shard that are drawn; its first one has this number."""
    kept = draw_rows(np.arange(first, first + shard.n_rows, dtype=np.uint64), share)
    return shard.values[:, kept], shard.y[kept], shard.weights[kept]


def snap_to_sample(start: Start, sample: ShardedSample) -> Start:
    """Replace each stump by the middle stump of the sample with the same values; equal ones add their weights."""
    stumps = VotedStumps.from_hypotheses(start.hypotheses, sample)
    cells = stumps.places.cells
    # of every cell the least value and the largest one, inf and -inf where it has none
    least, negated = sample.map_reduce(find_beside, stumps.places, combine=combine_extremes)
    largest = -negated
    weights: dict[Hypothesis, float] = {}
    for hypothesis, split, w in zip(start.hypotheses, stumps.first_above.tolist(), start.w.tolist(), strict=True):
        own = hypothesis
        if isinstance(hypothesis, Stump):
            # the cells of its feature: it is -sign in those before the split, and sign in the others
            first, end = cells[hypothesis.feature : hypothesis.feature + 2]
            below, above = largest[first:split].max(), least[split:end].min()
            if below == -inf:
                own = Constant(hypothesis.sign)
            elif above == inf:
                own = Constant(-hypothesis.sign)
            else:
                own = replace(hypothesis, threshold=float(find_middles(below, above)))
        weights[own] = weights.get(own, 0.0) + w
    return replace(start, hypotheses=tuple(weights), w=np.array(list(weights.values())))


def find_beside(shard: Shard, places: Places) -> Array:
    """Return the least value between neighbouring places, and minus the largest one, (2, n_cells)."""
    return find_extremes(shard.values, shard.find_cells(places), places.cells)
