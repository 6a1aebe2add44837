import numpy as np
import pytest
from dask_samples import sharded, two_classes

from cvxens.colgen import Formulation, column_generation, formulations, oracles
from cvxens.colgen.loop import RunLimits, Search
from cvxens.dask import DaskStumps
from cvxens.dask.masters import ShardedMaster, ShardedRestricted, combine_splits, split_samples
from cvxens.dask.votes import InteriorHinge, VotedStumps
from cvxens.errors import InvalidInput
from cvxens.hypotheses import Constant, Stump
from cvxens.problems.losses import Exponential, Hinge, Logistic, SquaredHinge
from cvxens.problems.penalties import L1, Simplex
from cvxens.problems.target_losses import EpsilonInsensitive

FORMULATIONS = {
    "soft margin": formulations.soft_margin(0.2),
    "soft margin with intercept": Formulation(Hinge(0.2), L1(), intercept=True, nonnegative=True),
    "logistic": Formulation(Logistic(0.3), L1(), intercept=True),
    "exponential": Formulation(Exponential(0.05), L1()),
    "squared hinge": Formulation(SquaredHinge(0.1), L1(), nonnegative=True),
}


def run_over_shards(formulation, sample, tol, **limits):
    search = Search(
        formulation, DaskStumps(sample), sample, ShardedMaster, lambda: ShardedRestricted(formulation, sample)
    )
    return search.run(RunLimits(tol=tol, **limits))


@pytest.mark.parametrize("name", FORMULATIONS)
def test_runs_over_shards_are_the_same_bits_and_reach_the_optimum_of_one_machine(name):
    formulation, (X, y) = FORMULATIONS[name], two_classes()
    # linear programs end in a vertex
    tol = 1e-9 if isinstance(formulation.terms[0], Hinge) else 1e-6
    # an empty shard, shards of one row and of one class are among them
    runs = [run_over_shards(formulation, sharded(X, y, ends), tol) for ends in ([], [1, 1, 20, 44])]
    one, many = runs
    assert [c.hypothesis for c in one.columns] == [c.hypothesis for c in many.columns]
    assert np.array_equal(one.weights, many.weights)
    assert one.certificate.primal == many.certificate.primal
    assert one.certificate.dual == many.certificate.dual
    assert one.certificate.rounding == many.certificate.rounding
    assert one.certificate.residuals == many.certificate.residuals
    assert one.certificate.holds(tol)
    reference = column_generation(formulation, oracles.Stumps(X), y, tol=1e-9).certificate
    assert one.certificate.dual <= reference.primal * (1 + 1e-12)
    assert one.certificate.primal >= reference.dual * (1 - 1e-12)
    assert one.certificate.primal == pytest.approx(reference.primal, rel=tol)


def test_the_prices_of_samples_in_doubt_and_of_settled_ones_are_all_there_are():
    X, y = two_classes(20)
    sample = sharded(X, y, [8])
    stumps = VotedStumps.from_hypotheses([Stump(0, 0.1, 1), Stump(2, -0.1, -1)], sample)
    vote = stumps.vote(np.array([0.5, 0.5]), 0.0)
    split = sample.map_reduce(split_samples, vote, Hinge(0.2), 0.5, -50, combine=combine_splits)
    # the prices of the cells and what is settled are the prices of all that are not above the kink
    z = y * (np.column_stack([Stump(0, 0.1, 1)(X), Stump(2, -0.1, -1)(X)]) @ np.array([0.5, 0.5]))
    total = float(split.cells.prices.sum() + np.abs(split.totals).sum())
    assert np.ldexp(total, -50) == pytest.approx(0.2 * (z <= 1.5).sum())


def test_curvature_from_pairs_of_intervals_is_that_of_the_columns():
    X, y = two_classes(30)
    rng = np.random.default_rng(0)
    hypotheses = [Stump(0, 0.3, 1), Stump(2, -0.1, -1), Stump(0, -0.4, -1), Constant(-1), Stump(2, 0.8, 1)]
    sample = sharded(X, y, [13])
    restricted = ShardedRestricted(Formulation(Logistic(0.3), L1(), intercept=True), sample)
    restricted.stumps = VotedStumps.from_hypotheses(hypotheses, sample)
    master = ShardedMaster(restricted.formulation, sample)
    master.restricted, master.w = restricted, rng.normal(size=5)
    at = master._evaluate(master.w, 0.2)
    H = np.column_stack([*(h(X) for h in hypotheses), np.ones(30)])
    z = y * (H @ np.append(master.w, 0.2))
    loss = Logistic(0.3)
    u = loss.multipliers(z)
    assert at.value == pytest.approx(loss.value(z) + np.abs(master.w).sum(), rel=1e-14)
    gram = restricted.stumps.gram(at.found.curvatures, at.found.pairs, int(at.found.curvature), at.exponent)
    assert np.allclose(gram, (H.T * loss.curvature(u)) @ H, rtol=1e-13, atol=1e-14)
    edges = restricted.stumps.edges(at.found.of_classes, at.found.totals, at.u.exponent)
    assert np.allclose(edges, H[:, :5].T @ (y * u), rtol=1e-13, atol=1e-14)


def test_the_interior_hinge_is_near_the_hinge_and_its_multipliers_are_its_slopes():
    z, C, d, step = np.linspace(-3, 5, 81), 0.7, 0.01, 1e-5
    near, hinge = InteriorHinge(C, d), Hinge(C)
    u = near.multipliers(z)
    assert ((u > 0) & (u < C)).all()
    slopes = (near.terms(z - step) - near.terms(z + step)) / (2 * step)
    assert np.allclose(u, slopes, atol=1e-7)
    bends = (near.multipliers(z - step) - near.multipliers(z + step)) / (2 * step)
    assert np.allclose(near.curvature(u), bends, rtol=1e-4)
    # what u misses complementarity by
    distance = hinge.terms(z) + u * z - hinge.dual_terms(u)
    assert (distance >= -1e-15).all()
    assert distance.max() <= C * d


def test_formulations_that_shards_cannot_be_asked_for_are_refused():
    sample = sharded(*two_classes(20))
    with pytest.raises(InvalidInput, match="formulation: found Hinge and Simplex"):
        ShardedMaster(Formulation(Hinge(0.1), Simplex(), nonnegative=True), sample)
    with pytest.raises(InvalidInput, match="formulation: found prices"):
        ShardedMaster(formulations.soft_margin(np.full(20, 0.1)), sample)
    with pytest.raises(InvalidInput, match="formulation: found EpsilonInsensitive"):
        ShardedMaster(Formulation(EpsilonInsensitive(np.ones(20), epsilon=0.1), L1()), sample)
