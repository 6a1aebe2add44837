"""The parameters and attributes that several estimators document with the same words."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")

WORDS = {
    "COLUMN_GENERATION": """\
oracle : str or callable
        The weak learners: "stumps" (all middle stumps), "quantile_stumps" (at most 32 per feature), "perceptrons",
        "fourier", "trees", or a function from X to an oracle, such as ``oracles.Stumps`` or
        ``functools.partial(oracles.Perceptrons, refined=1)``. Stumps take sparse X; trees take NaN, and data frames
        with columns of categories, strings or booleans, whose values `features_` then lists. Classifiers of
        scikit-learn, as in ``functools.partial(oracles.SklearnLearner, DecisionTreeClassifier(max_depth=2))``, take
        what they take by themselves, and oracles of your own are handed sparse X as it is (CSR or CSC). Those that are
        sampled or learned, the last three, are heuristic: nothing is proven over all of them.
    columns_per_round : int, optional
        At most so many weak learners enter per round; None for the oracle's own choice.
    tol : float
        The relative certified gap at which the fit is done.
    max_columns : int, optional
        Stop, with a ConvergenceWarning, at so many weak learners.
    max_time : float, optional
        Stop, with a ConvergenceWarning, after so many seconds; of each sub-problem where there are several. Ctrl-C
        does the same: what is done is kept.
    solver : {"fast", "reference"}
        What solves the restricted masters: the fastest way known for the formulation, or cvxpy.
    warm_start : bool
        Whether `fit` starts from the weak learners of the last fit, which was on other parameters or another sample of
        the same features; each sub-problem from its own, where the classes are the same. They count among the
        hypotheses that the certificate is over, also where the oracle has none of their kind on the new sample.
    random_state : int, RandomState instance or None
        Seed of an oracle that samples.
    verbose : int
        1 shows progress on the standard error. From scikit-learn 1.9 on, its callbacks can follow: `set_callbacks`.""",
    "LIMITS": """\
max_time : float, optional
        Stop, with a ConvergenceWarning, after so many seconds; of each sub-problem where there are several. Ctrl-C
        does the same: what is done is kept.
    verbose : int
        1 shows progress on the standard error. From scikit-learn 1.9 on, its callbacks can follow: `set_callbacks`.""",
    "CLASS_WEIGHT": """\
class_weight : dict, "balanced" or None
        Factors on the price of a class's slack; "balanced" gives all classes the same sum.""",
    "SUB_PROBLEMS": """\
multi_class : {"ovr", "ovo"}
        One-vs-rest or one-vs-one for more than two classes.
    n_jobs : int, optional
        Sub-problems fitted at a time, as joblib counts.""",
    "ENSEMBLE": """\
certificate_ : Certificate
        How far the ensemble is at most from the optimum over all hypotheses of the oracle.
    history_ : tuple of Round
        Objective, bound and times, round by round.
    weak_learners_ : tuple of Hypothesis
        Functions from X to (n_samples,).""",
    "TWO_CLASS_ENSEMBLE": """\
weights_ : ndarray of shape (n_weak_learners,)
        Their weights w.
    intercept_ : ndarray of shape ()
        b; 0 where the formulation has none.
    dual_weights_ : ndarray of shape (n_samples,)
        u, the weights of the samples; the bound is from them.
    decomposition_ : OneVsRestClassifier or OneVsOneClassifier
        Of more than two classes only; each of the six attributes above is then a list over the sub-problems.""",
    "SUPERVISED_KERNEL": """\
forest : estimator, optional
        A tree, forest or gradient boosting of scikit-learn; by default a random forest. A clone of it is fitted, with a
        seed from `random_state` if it has none. One that is fitted already, to an array, is taken as it is if it is
        wrapped into a `sklearn.frozen.FrozenEstimator`.
    kernel : {"depth", "leaf"}
        TT06 (9), the depth of the deepest node that both samples pass, a mean over the trees; or TT06 (8), the share of
        the trees in which they reach the same leaf. The latter is smaller by about the depth of the trees, and sees
        little where leaves have few samples, as they have in regression: give the forest a `min_samples_leaf`.
    gamma : float
        Weight of the penalty, above 0.
    n_experts : int
        Number of experts; TT06 has 100 to 250.
    sample_share : float or pair of floats
        Size of their samples in proportion to all samples, above 0 and at most 1; of two numbers, the least and the
        largest, between which sizes are uniform. Samples are drawn without replacement.
    random_state : int, RandomState instance, Generator or None
        Seed of the forest and of the samples.
    n_jobs : int, optional
        Trees grown and experts fitted at a time, as joblib counts, on threads. It does not change the model.""",
    "EXPERTS": """\
kernel_ : TreeEnsemble
        The kernel, with the fitted forest as `kernel_.forest`; the trees alone where the model was read from a file.
    experts_ : LeastSquaresExperts
        Coefficients, samples and certificate of every expert.
    X_fit_ : ndarray of shape (n_samples, n_features)
        The training samples.""",
    "PSD_KERNEL": """\
kernel : str or callable
        "middle-stump" (all middle stumps: scaling features does not matter to it), "stump", "histogram-intersection",
        "decision-stump", "perceptron", "decision-tree", "laplacian", "gaussian", one of `cvxens.kernels`, or a function
        from two samples to the matrix between them; PSD. All but the first want features of one scale.
    gamma : float, optional
        Of the last three that have a name; by default half of its upper limit, 1 / (n_features X.std()), and
        1 / (n_features X.var()), samples counted by their weights; of several sub-problems, those of all samples.""",
    "EXPANSION": """\
kernel_ : FixedKernel
        The kernel as a function of two samples, with what it took from the training sample.
    support_ : ndarray of int, shape (n_support,)
        Training samples that scores are expanded over.
    support_vectors_ : ndarray of shape (n_support, n_features)
        Their features.
    dual_coef_ : ndarray of shape (n_support,)
        Coefficients c of ``f(x) = sum_j c_j k(x, x_j)``.
    intercept_ : ndarray of shape ()
        0.""",
    "EXPANSION_OF_PARTS": """\
decomposition_ : OneVsRestClassifier or OneVsOneClassifier
        Of more than two classes only; each of the attributes above is then a list over the sub-problems, with
        `support_` of the samples that a sub-problem has.""",
    "CODED_BOOSTING": """\
oracle : str or callable
        The weak learners of two classes, with values within [-1, 1]: "stumps" (all middle stumps), "quantile_stumps"
        (at most 32 per feature), "perceptrons", "fourier", or a function from X to an oracle that prices several
        outputs at once. Stumps take sparse X.
    n_rounds : int
        At most so many rounds. Fewer where no weak learner is better than chance.
    random_state : int, RandomState instance or None
        Seed of random codes, and of an oracle that samples.
    max_time : float, optional
        Stop, with a ConvergenceWarning, after so many seconds. Ctrl-C does the same: what is done is kept.
    verbose : int
        1 shows progress on the standard error. From scikit-learn 1.9 on, its callbacks can follow: `set_callbacks`.""",
    "CODED_ENSEMBLE": """\
certificate_ : Certificate
        Of the largest margin over the pairs of a sample and a class: `primal` is the smallest margin of the ensemble,
        `dual` a bound on that of every vote. Proven for stumps and up to 5 classes.
    history_ : tuple of BoostingRound
        Hypothesis, with its code, edge, weight and loss, round by round.
    weak_learners_ : tuple of Hypothesis
        Functions from X to (n_samples,); each once.
    weights_ : ndarray of shape (n_weak_learners, n_classes)
        Their votes for the classes: w v, summed over the rounds.
    intercept_ : ndarray of shape (n_classes,)
        0.
    dual_weights_ : ndarray of shape (n_samples, n_classes)
        The weights of the pairs, with sum 1, of the round that proves the bound; 0 where there is no pair.""",
    "PROBABILITIES": """\
Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of `classes_`; rows sum to 1.""",
    "STAGED_SAMPLE": """\
Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            As in `fit`.""",
    "CERTIFIED_SAMPLE": """\
X : array-like of shape (n_samples, n_features)
            Features of any sample.
        y : array-like of shape (n_samples,)
            Its classes: those of the fitted sample, all of them.
        sample_weight : array-like of shape (n_samples,), optional
            As in `fit`, where that takes them.""",
    "CERTIFIED_EXPERTS": """\
Their problem with the fitted kernel is solved anew, over all of that sample: every expert, and so their mean,
        is at most so far from its optimum. As they were fitted to parts of the training sample, there is a gap on the
        whole of it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features of any sample.
        y : array-like of shape (n_samples,)
            Its targets; classes are those of the fitted sample, all of them.
        weights : array-like of shape (n_training_samples, n_experts, n_outputs), optional
            Coefficients from anywhere, over the training samples; by default ``experts_.coefficients``.

        Returns
        -------
        Certificate
            Of the expert with the largest gap.""",
    "CLASSES": """\
classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where X had names that are all strings.""",
}


def documented(thing: T) -> T:
    """Put the shared words into the docstring of a class or function, in place of ``<NAME>``."""
    for name, words in WORDS.items():
        thing.__doc__ = (thing.__doc__ or "").replace(f"<{name}>", words)
    return thing
