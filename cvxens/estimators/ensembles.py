"""Ensembles by column generation: one formulation each, over any weak learners, with a certificate over all of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from math import inf, nan
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from cvxens import validation
from cvxens.certificates import Certificate, Round
from cvxens.colgen import (
    Bands,
    Column,
    Formulation,
    Hypothesis,
    Master,
    Oracle,
    Run,
    Step,
    column_generation,
    find_bands,
)
from cvxens.colgen.loop import certify_incumbent, price_beside, state_set
from cvxens.colgen.masters import CvxpyMaster, fastest_master
from cvxens.colgen.near_optimal import N_POINTS
from cvxens.colgen.oracles import Rows
from cvxens.colgen.protocols import Incumbent
from cvxens.colgen.restricted import Restricted
from cvxens.errors import InvalidInput
from cvxens.estimators.base import (
    REMEDIES,
    Attributes,
    Learner,
    check_shape,
    is_open,
    refuse_intercept,
    rounds_of,
    time_limit,
    warn_of,
    warn_of_run,
    with_callbacks,
)
from cvxens.estimators.constraints import (
    Constraint,
    check_constraints,
    compare_optima,
    constrain,
    find_run_constraint,
    narrow,
    refuse_bounds,
)
from cvxens.estimators.explanations import find_importances, get_rules, list_votes_of, sum_votes, to_frame, to_text
from cvxens.estimators.prices import Choice, EnsemblePath, PriceSearch, choose_better, choose_price
from cvxens.estimators.samples import (
    Accepts,
    OracleFactory,
    Sample,
    Weighted,
    find_accepted,
    label,
    make_oracle,
    recode,
)
from cvxens.limits import OVERRUN, TimeUp, limit_time, time_left
from cvxens.problems.duality import Edges
from cvxens.problems.formulation import apply
from cvxens.problems.sides import SideLoss
from cvxens.proofs import Layout, Proof, prove
from cvxens.types import Array, Data, Given, Matrix
from cvxens.validation import RandomState

SOLVERS: Mapping[str, Callable[[Formulation, Array], Master]] = {"fast": fastest_master, "reference": CvxpyMaster}
"""The solvers of the restricted masters of a run."""

Own: TypeAlias = Callable[[], Mapping[str, Array]]
"""Makes the best values of a formulation's own variables, by name."""


@dataclass(eq=False, repr=False)
class Ensemble(Learner):
    """A weighted vote of weak learners found by column generation.

    Parameters
    ----------
    columns_per_round : int, optional
        At most so many weak learners enter per round; None for the oracle's own choice.
    tol : float
        The relative certified gap at which the fit is done.
    max_columns : int, optional
        Stop, with a ConvergenceWarning, at so many weak learners.
    solver : {"fast", "reference"}
        What solves the restricted masters: the fastest way known for the formulation, or cvxpy.
    warm_start : bool
        True if `fit` starts from the weak learners of the last fit, which was on other parameters or another sample of
        the same features; each sub-problem from its own, where the classes are the same. They count among the
        hypotheses that the certificate is over, also where the oracle has none of their kind on the new sample.
    constraints : list of constraints, optional
        What the ensemble has to keep, and is optimal among all that do: shapes of the score everywhere, `Monotone`,
        `Convex`, `Concave` and `Interactions`; of two classes or a regression, on the scores of the training sample,
        `EqualMeanScores`, `GroupLoss` and `ClassLoss`; on the weights `FeatureBudget`; or a
        `cvxens.estimators.Constraint` of your own. Where no ensemble satisfies them, `fit` raises `Infeasible` with the
        proof.

    Attributes
    ----------
    certificate_ : Certificate
        How far the ensemble is at most from the optimum over all hypotheses of the oracle.
    history_ : tuple of Round
        Objective, bound and times, round by round.
    weak_learners_ : tuple of Hypothesis
        Functions from X to (n_samples,).
    weights_ : ndarray of shape (n_weak_learners,)
        Their weights w.
    intercept_ : ndarray of shape ()
        b; 0 where the formulation has none.
    dual_weights_ : ndarray of shape (n_samples,)
        u, the weights of the samples; the bound is from them.
    prices_ : mapping of str to float
        The multiplier of every constraint on scores or weights, by what it bounds: what the objective would fall by,
        for each unit that the limit is raised by, at first. Those of constraints that hold by themselves are 0, and NaN
        where `max_time` left no time to find them.
    price_of_constraints_ : tuple of two floats, or None
        How much worse the optimum of the formulation is by the constraints, at least and at most, by the certificates
        of the fit and of another run without them; infinite where it cannot be bounded, None without constraints.
    C_ : float or None
        The price of a unit of a sample's loss: given, by default, or chosen; None where the formulation has none.
    cv_results_ : dict of str to sequence, or None
        What was tried, of C="auto", as `PriceSearchCV` has it; empty where time was up before the first price was
        scored, None where C was given.
    """

    _: KW_ONLY
    columns_per_round: int | None = None
    tol: float = 1e-3
    max_columns: int | None = None
    solver: str = "fast"
    warm_start: bool = False
    constraints: Sequence[Constraint] | None = None
    random_state: RandomState = None
    max_time: float | None = None
    verbose: int = 0
    history_: tuple[Round, ...] = field(init=False)
    weak_learners_: tuple[Hypothesis, ...] = field(init=False)
    weights_: Array = field(init=False)
    intercept_: Array = field(init=False)
    dual_weights_: Array = field(init=False)
    prices_: dict[str, float] = field(init=False)
    price_of_constraints_: tuple[float, float] | None = field(init=False)
    C_: float | None = field(init=False)
    cv_results_: dict[str, Sequence[object]] | None = field(init=False)

    to_frame = to_frame
    get_rules = get_rules
    to_text = to_text
    feature_importances_ = property(find_importances)
    _list_terms = list_votes_of

    @property
    @abstractmethod
    def oracle(self) -> str | OracleFactory:
        """The weak learners: a field of the classes below, whose place in the signature and default are theirs."""

    @abstractmethod
    def _state(self, sample: Any) -> Formulation:
        """Return the problem that the estimator solves on a sample where there are no constraints."""

    def _formulation(self, sample: Weighted) -> Formulation:
        """Return the problem that the estimator solves on a sample."""
        return constrain(self._state(sample), self.constraints, sample)

    @with_callbacks
    def fit(self, X: Data, y: ArrayLike, sample_weight: Given = None, *, sensitive_features: Given = None) -> Self:
        """Fit the estimator.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features; the class says whether sparse matrices or missing values are taken.
        y : array-like of shape (n_samples,)
            Two or more classes of a classifier, numbers of a regressor; of survival, events and times.
        sample_weight : array-like of shape (n_samples,), optional
            Factors on the price of each sample's slack, 0 or above; a sample of weight 0 plays no part.
        sensitive_features : array-like or data frame of shape (n_samples,) or (n_samples, n_columns), optional
            What samples are told apart by in constraints on scores, and nothing else: weak learners do not see it, and
            predictions do without.

        Returns
        -------
        self
            Fitted; an estimator whose fit fails stays as it was.

        Raises
        ------
        InvalidInput
            Arguments, or parameters of the constructor, that cannot be worked with; it is a ValueError.
        Infeasible
            No ensemble satisfies the constraints, and multipliers prove it.
        """
        return self._fit_given(X, y, sample_weight=sample_weight, sensitive_features=sensitive_features)

    def _accepts(self) -> Accepts:
        return find_accepted(self.oracle)

    def _scores(self, X: Matrix) -> Array:
        return sum_votes(X, self.weak_learners_, self.weights_, self.intercept_)

    def _check(self, sample: Sample) -> None:
        validation.instance("warm_start", self.warm_start, bool, np.bool_)
        before = vars(self).get("n_features_in_")
        if self.warm_start and before not in {None, sample.X.shape[1]}:
            found = f"found {sample.X.shape[1]} features for weak learners of {before}"
            raise InvalidInput("X", found, "give samples of as many features as before, or set warm_start=False")
        if self._n_problems(sample) > 1:
            for one in check_constraints(self.constraints):
                if not one.several_scores:
                    each = f"for {len(sample.classes)} classes, each of which has a score of its own"
                    found = f"found {type(one).__name__} {each}"
                    raise InvalidInput("constraints", found, "give samples of two classes")

    def _most_rounds(self, sample: Sample) -> None:
        """Return None, as the number of rounds is not known in advance."""

    def _check_solver(self) -> str:
        return validation.one_of("solver", self.solver, SOLVERS)

    def _oracle(self, sample: Weighted, formulation: Formulation, **more: Any) -> Oracle:
        """Return the oracle over a sample; it finds sums of squared edges only where the penalty needs them."""
        given = {"columns_per_round": self.columns_per_round, "random_state": self.random_state, **more}
        factory = narrow(self.oracle, self.constraints, sample)
        made = make_oracle(factory, sample, square_sum=formulation.needs_square_sum, **given)
        return made if sample.combinations is None else Rows(made, sample.combinations)

    def _solve(self, sample: Sample) -> Attributes:
        # of several sub-problems, the weak learners of each are with its own classifier
        warm = self.warm_start and not vars(self).get("estimators_")
        known = recode(vars(self).get("weak_learners_", ()), sample.features) if warm else ()
        if (choice := self.__dict__.pop("_choice", None)) is None:
            # of what else is open than a price, the last value has the hypotheses of all
            choice = choose_price(self, sample) if self._has_open_price() else Choice(self._list_alternatives()[-1])
        # a copy with what was chosen, so that a fit that fails leaves the estimator as it was
        at = copy(self)
        at.__dict__.update(choice.params)
        formulation = at._formulation(sample)
        oracle, start = at._oracle(sample, formulation), tuple(dict.fromkeys((*known, *choice.learners)))
        prices: dict[str, float] = {}
        if (held := find_run_constraint(self.constraints)) is None:
            run = at._fit(sample, formulation, oracle, start)
        else:
            run, prices = held.solve(at, sample, formulation, start)
            if not run.certificate.holds(self.tol) and run.ending not in REMEDIES:
                reached = f"the relative gap under constraints is {run.certificate.relative_gap:.3g}"
                warn_of(self, f"{reached}, tol is {self.tol:g}", "take a smaller tol, by which runs meet more closely")
        run = run if choice.run is None else choose_better(run, choice.run, formulation.sense)
        warn_of_run(self, run)
        used = average(formulation, oracle, sample, run, choice.members) if choice.members else run
        return {
            # its exact proof would keep the sample
            "certificate_": used.certificate,
            "history_": run.history,
            **at._ensemble_of(formulation, used.columns, used.weights, used.intercept, lambda: run.variables),
            "dual_weights_": sample.spread(run.u),
            "prices_": price_sides(formulation, run.u) | prices,
            "price_of_constraints_": at._price_constraints(sample, run) if self.constraints else None,
            **at._appraise(sample, formulation, run),
            **({"C_": at._price(sample), "cv_results_": None} | choice.attributes),
        }

    def _merges(self) -> bool:
        # of samples that are alike but for their classes, a fold has to have as many of each as there are
        return not (self._has_open_price() or "_choice" in vars(self))

    def _has_open_price(self) -> bool:
        return is_open("C", vars(self).get("C")) or is_open("nu", vars(self).get("nu"))

    def _usual_price(self, sample: Any) -> float | None:
        """Return the price where none is given; None of a formulation that has none."""

    def _price(self, sample: Weighted) -> Any:
        """Return the price of a unit of a sample's loss, or None; one that is chosen is known from the fit."""
        C = vars(self).get("C")
        if is_open("C", C):
            return self.C_
        return self._usual_price(sample) if C is None else validation.positive("C", C)

    def _open_path(self, search: PriceSearch, others: Mapping[str, Any]) -> EnsemblePath:
        found, remedy = "with C='auto', or another search for the price", "choose C without it first, and give it"
        refuse_bounds(self.constraints, {"weights"}, found, remedy)
        return EnsemblePath(search, others)

    def _hold(self, sample: Any, formulation: Formulation, oracle: Oracle, *point: Any) -> Certificate:
        """Certify hypotheses by multipliers, with weights that stay as they are and an intercept."""
        return certify_ensemble(formulation, oracle, label(formulation, sample), *point, rescale=False)

    def _price_constraints(self, sample: Weighted, found: Run) -> tuple[float, float] | None:
        """Solve without the constraints, from the weak learners of the fit, and compare both optima."""
        shaped = narrow(self.oracle, self.constraints, sample) is not narrow(self.oracle, None, sample)
        if not shaped and all(one.bounds == "learners" for one in self.constraints or ()):
            return None
        free = copy(self)
        free.constraints = None
        formulation = free._formulation(sample)
        oracle, start = free._oracle(sample, formulation), [column.hypothesis for column in found.columns]
        try:
            run = column_generation(formulation, oracle, label(formulation, sample), tol=free.tol, start=start)
        except TimeUp:
            return 0.0, inf
        return compare_optima(found.certificate, run.certificate, formulation.sense)

    def _appraise(self, sample: Sample, formulation: Formulation, run: Run) -> Attributes:
        """Return further attributes that a run gives to the fit of a sample; those that say more of it add theirs."""
        return {}

    def _ensemble_of(
        self, formulation: Formulation, columns: Sequence[Column], w: Array, b: Array, own: Own
    ) -> Attributes:
        """Return the attributes by which columns of these weights score samples; `own` values are the formulation's."""
        learners = tuple(column.hypothesis for column in columns)
        return {"weak_learners_": learners, "weights_": w, "intercept_": np.asarray(b)}

    def _fit(self, sample: Sample, formulation: Formulation, oracle: Oracle, start: Sequence[Hypothesis]) -> Run:
        """Generate the columns of the ensemble from some to start with."""
        return self._run(sample, formulation, oracle, start)

    def _run(
        self,
        sample: Sample,
        formulation: Formulation,
        oracle: Oracle,
        start: Sequence[Hypothesis] = (),
        **other_limits: Any,
    ) -> Run:
        """Generate columns within the limits of the parameters or others, while callbacks follow the rounds."""

        def follow(step: Step) -> bool:
            """Show a round, and end its task; True ends the run, as a callback says."""
            best, columns = step.incumbent.solution, step.incumbent.columns

            def own() -> Mapping[str, Array]:
                f = best.b + np.zeros(best.s.shape)
                for column, w in zip(columns, best.w, strict=True):
                    f += np.multiply.outer(column.values, w)
                return formulation.own_values(f if y is None else y * f, best.w)

            def fitted() -> Attributes:
                return self._ensemble_of(formulation, columns, best.w, best.b, own)

            n_columns = f"{len(step.solution.w)} columns"
            progress = f"relative gap {step.relative_gap:.2g}, {n_columns}, objective {best.objective:.6g}"
            stop = rounds.end(progress, fitted)
            # the next round has begun by now, unless this was the last one
            if not stop and step.relative_gap > limits["tol"]:
                rounds.begin()
            return stop

        y = label(formulation, sample)
        limits: dict[str, Any] = {"tol": self.tol, "max_columns": self.max_columns, "max_time": time_limit(self)}
        limits |= {"master": SOLVERS[self._check_solver()], **other_limits}
        with rounds_of(self) as rounds:
            rounds.begin()
            return column_generation(formulation, oracle, y, start=start, callback=follow, **limits)

    def bands(
        self,
        X: Data,
        y: ArrayLike,
        sample_weight: Given = None,
        *,
        within: float = 0.01,
        features: Sequence[int | str] | None = None,
        points: Mapping[int | str, ArrayLike] | int = N_POINTS,
        tol: float = 1e-2,
        max_time: float = inf,
    ) -> Bands:
        """Find how far each feature's function and importance may differ among all ensembles almost as good as this.

        All ensembles over the hypotheses of the oracle count whose objective is at most that of the best one, plus the
        share `within` of its size. Functions are as those of `effects`, of the mean 0 over the samples.

        Parameters
        ----------
        X, y, sample_weight
            The samples of the fit, of two classes or of a regression.
        within, features, points, tol, max_time
            As of `cvxens.colgen.find_bands`; features may also be given by their names.

        Returns
        -------
        cvxens.colgen.Bands
            For ``ShapeDisplay.from_effects(effects, X, bands=...)``, `report`, and by themselves.

        Raises
        ------
        InvalidInput
            There are several scores, a ranking, learners of several features, side constraints, or no l1 penalty.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from cvxens import LPBoostClassifier
        >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
        >>> model = LPBoostClassifier(C=0.005).fit(X, y)
        >>> model.bands(X, y, within=0.001, points=2).needed
        [20]
        """
        sample: Any = self._read_again(X, y, sample_weight=sample_weight)
        several = self._parts() != [self] or np.ndim(self.weights_) > 1
        if several or sample.combinations is not None:
            found = "several scores, each with weights of its own" if several else "grades, whose loss is that of pairs"
            raise InvalidInput("y", f"found {found}", "give two classes, or the targets of a regression")
        refuse_bounds(self.constraints, {"weights"}, "whose bounds no bands know", "fit without it first")
        formulation = self._formulation(sample)
        find = partial(validation.feature_index, names=sample.names, n_features=sample.X.shape[1])
        asked = None if features is None else [find("features", one) for one in features]
        at = {find("points", one): values for one, values in points.items()} if isinstance(points, Mapping) else points
        return find_bands(
            formulation,
            lambda X: self._oracle(replace(sample, X=X), formulation),
            sample.X,
            label(formulation, sample),
            within=within,
            features=asked,
            points=at,
            start=dict.fromkeys(self.weak_learners_),
            feature_names=sample.names or None,
            sample_weight=sample.masses,
            tol=tol,
            max_time=max_time,
            master=SOLVERS[self._check_solver()],
        )

    def _certify(self, sample: Any, weights: ArrayLike, intercept: ArrayLike) -> Certificate:
        formulation = self._formulation(sample)
        if (held := find_run_constraint(self.constraints)) is not None:
            return held.certify(self, sample, formulation, self.weak_learners_, weights, intercept)
        oracle, y = self._oracle(sample, formulation), label(formulation, sample)
        u = self._run(sample, formulation, oracle, self.weak_learners_).u
        return certify_ensemble(formulation, oracle, y, self.weak_learners_, u, weights, intercept)

    def _prove(
        self, sample: Any, u: ArrayLike, tol: float | None, max_time: float, lay_out: Callable[[int], Layout]
    ) -> Proof:
        """Prove an ensemble, by its multipliers where they are given, else one of a new run."""
        formulation = self._formulation(sample)
        oracle = self._oracle(sample, formulation)
        statement = state_set(formulation, oracle)
        refuse_bounds(self.constraints, {"weights"}, "whose bounds no exact proof knows", "fit without it first")
        if statement is None:
            found = f"found {self.oracle!r:.100}, on these features, whose hypotheses an exact proof cannot name"
            raise InvalidInput("oracle", found, "take 'stumps', without bounds on their signs")
        as_fitted = u is not None
        if as_fitted:
            hypotheses, weights, intercept = list(self.weak_learners_), self.weights_, self.intercept_
        else:
            start = self.weak_learners_
            if tol is None:
                # the last digit can take HiGHS's simplex method over all columns, which took 2.1 GB and six times as
                # long on 19,020 samples, where interior points took 0.6
                tol = 1e-9 if len(sample.weights) <= 10_000 else 1e-8
            run = column_generation(formulation, oracle, sample.signs, tol=tol, max_time=max_time, start=start)
            hypotheses, weights, intercept = [column.hypothesis for column in run.columns], run.weights, run.intercept
            u = run.u
        over, table, readings = statement
        return prove(
            formulation,
            table,
            sample.signs,
            hypotheses,
            weights,
            float(intercept),
            u=u,
            over=over,
            as_given=as_fitted,
            layout=lay_out(table.shape[1]),
            readings=readings,
        )


@dataclass(eq=False, repr=False)
class OfAnyFormulation(Ensemble):
    """An ensemble for a formulation of its user's, which may have variables of its own.

    Attributes
    ----------
    variables_ : mapping of str to ndarray
        The best values of the variables that the formulation names itself.
    """

    variables_: dict[str, Array] = field(init=False)
    _decide: Any = field(init=False)

    def _ensemble_of(
        self, formulation: Formulation, columns: Sequence[Column], w: Array, b: Array, own: Own
    ) -> Attributes:
        found = super()._ensemble_of(formulation, columns, w, b, own)
        return {**found, "variables_": dict(own()), "_decide": formulation.decide}

    def _scores(self, X: Matrix) -> Array:
        return apply(self._decide, super()._scores(X), X, self.variables_)


@limit_time(inf, final=True)
def certify_ensemble(
    formulation: Formulation,
    oracle: Oracle,
    y: Array | None,
    hypotheses: Sequence[Hypothesis],
    u: Array,
    weights: Any,
    intercept: Any = None,
    *,
    rescale: bool = True,
) -> Certificate:
    """Certify weights of given hypotheses, repaired to be feasible, over all hypotheses of an oracle and these.

    On another sample than that of a fit the oracle's set need not have them: its bins and scales are of the sample. The
    bound is from the dual point u; without an intercept the best one is taken. The `repair` of the certificate says
    how far weights and intercept were moved; weights that may not be rescaled are as they are wherever they are
    feasible.
    """
    formulation = formulation.renewed()
    columns = tuple(Column(hypothesis, oracle.sample, 0.0) for hypothesis in hypotheses)
    restricted = Restricted(formulation, formulation.signs(y, validation.count_rows(oracle.sample)))
    restricted.add(columns)
    outputs = restricted.problem.outputs
    point = {"w": check_shape("weights", weights, (len(hypotheses), *outputs)), "u": u}
    if not formulation.intercept:
        refuse_intercept(intercept)
    elif intercept is not None:
        point["b"] = check_shape("intercept", intercept, outputs)
    solution = restricted.evaluate(restricted.shift(point), rescale=rescale)
    priced = price_beside(oracle, hypotheses, replace(solution, s=restricted.y * u))
    square_sum = priced.rising_square_sum if formulation.nonnegative else priced.edge_square_sum
    bound = restricted.problem.bound(u, Edges(priced.edge_bound, square_sum))
    condition = formulation.condition(restricted.shrink(u, priced))
    incumbent = Incumbent(columns, solution, bound, u, priced, condition)
    certificate = certify_incumbent(formulation, restricted, incumbent, restricted.rounding(incumbent))
    moved = {name: float(np.abs(vars(solution)[name] - point[name]).max(initial=0.0)) for name in point if name != "u"}
    return replace(certificate, repair=moved)


def price_sides(formulation: Formulation, u: Array) -> dict[str, float]:
    """Return the multipliers of the side constraints of a formulation at u, by name; NaN without time to find them."""
    loss = formulation.terms[0]
    if not isinstance(loss, SideLoss):
        return {}
    prices = [nan] * len(loss.names)
    # a solver may find them, after a run that was cut
    with suppress(TimeUp), limit_time(max(time_left(), 0.0) + OVERRUN, alone=True):
        prices = loss.price(u).tolist()
    return dict(zip(loss.names, prices, strict=True))


def average(formulation: Formulation, oracle: Oracle, sample: object, run: Run, members: Sequence[Run]) -> Run:
    """Return a run with the mean of some ensembles in place of its own, certified by the bound that it has found.

    Loss and penalty are convex, so the mean costs at most what the ensembles cost on average, and satisfies what all of
    them satisfy.
    """
    weights: dict[Hypothesis, Array] = {}
    for member in members:
        for column, w in zip(member.columns, member.weights, strict=True):
            if np.any(w):
                weights[column.hypothesis] = weights.get(column.hypothesis, 0.0) + w / len(members)
    b = np.mean([member.intercept for member in members], axis=0)
    columns, w = [Column(hypothesis, oracle.sample, 0.0) for hypothesis in weights], np.array(list(weights.values()))
    point = list(weights), run.u, w, b
    certificate = certify_ensemble(formulation, oracle, label(formulation, sample), *point, rescale=False)
    if len(members) > 1:
        certificate = replace(certificate, note=f"{certificate.note}, of a mean of {len(members)} ensembles")
    return replace(run, certificate=certificate, columns=columns, weights=w, intercept=b)
