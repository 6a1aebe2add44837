"""`AdditiveClassifier` and `AdditiveRegressor` as AutoGluon fits a model."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any

from autogluon.core.models import AbstractModel

if TYPE_CHECKING:
    import pandas as pd

SEARCH, HEADROOM = 0.6, 0.9
"""The shares of the time that is left which the search for a price and the fit may take; a round that has begun is
ended."""

WIDE = 400
"""With more features there are no pairs, of which there would be more than 80,000."""


class CvxensAdditiveModel(AbstractModel):
    """A sparse additive model of main effects and pairs, with a certificate of how far it is from the optimum.

    The score is a sum of steps, lines and functions of two features, of which few have a weight: the optimum of an l1
    penalty over all of them, found by column generation, and proven to a relative gap of 1e-3. Gaps and categories are
    taken as they are.

    Codebase: cvxens (``pip install cvxens``)
    License: that of cvxens, which is in its repository
    """

    ag_key = "TA-CVXENS-ADDITIVE"
    ag_name = "TA-CvxensAdditive"
    ag_priority = 35
    seed_name = "random_state"
    _supported_problem_types = ["binary", "multiclass", "regression"]
    _default_auxiliary_params_extra = {"valid_raw_types": ["int", "float", "category"]}
    default_resources_physical_cores_only = True

    def _fit(
        self,
        X: pd.DataFrame,
        y: pd.Series,
        X_val: pd.DataFrame | None = None,
        y_val: pd.Series | None = None,
        time_limit: float | None = None,
        num_cpus: int = 1,
        **kwargs: Any,
    ) -> None:
        from cvxens.limits import limit_threads

        start = time.monotonic()
        X = self.preprocess(X, y=y)
        model = make_model(self.problem_type, self._get_model_params(), X.shape[1])

        def give_time(share: float) -> None:
            if time_limit is not None:
                model.set_params(max_time=max(1.0, share * (time_limit - (time.monotonic() - start))))

        with limit_threads(max(1, int(num_cpus))):
            if X_val is not None:
                give_time(SEARCH)
                model.set_params(**choose_price(model, X, y, self.preprocess(X_val), y_val))
            give_time(HEADROOM)
            self.model = model.fit(X, y)

    def _more_tags(self) -> dict:
        return {"can_refit_full": True}

    @classmethod
    def warmup(cls, **kwargs: Any) -> None:
        """Compile what fits run, which is kept on the disk: two tables that are made up, with gaps and categories."""
        import numpy as np
        import pandas as pd

        rng = np.random.default_rng(0)
        X = pd.DataFrame(rng.normal(size=(60, 4)), columns=list("abcd"))
        X["e"] = pd.Categorical(rng.choice(["one", "two", "three"], size=60))
        score = X["a"] + X["b"] * (X["e"] == "two")
        X.loc[::7, "c"] = np.nan
        make_model("binary", {"tol": 0.1}, 5).fit(X, score > 0)
        make_model("regression", {"tol": 0.1}, 5).fit(X, score)

    @classmethod
    def _estimate_memory_usage_static(cls, *, X: pd.DataFrame, num_classes: int | None = 1, **kwargs: Any) -> int:
        """Return the bytes that a fit takes at most."""
        n, p = X.shape
        return int(BASE + n * (PER_ROW + PER_CELL * p))


BASE, PER_ROW, PER_CELL = 600_000_000, 30_000, 3_000
"""Of the library and its compiled functions; of a row; and of a cell. 0.92 GB were measured for 10,000 rows of 20."""


def choose_price(model: Any, X: pd.DataFrame, y: pd.Series, X_val: pd.DataFrame, y_val: pd.Series) -> dict[str, Any]:
    """Return the price, and whether there are pairs, that do best on the rows for validation, which no fit of it sees.

    The search scores a fold at the price of the whole sample times the root of how much smaller the fold is.
    """
    import numpy as np
    import pandas as pd

    from cvxens import PriceSearchCV

    n, n_all = len(y), len(y) + len(y_val)
    search = PriceSearchCV(model, cv=[(np.arange(n), np.arange(n, n_all))])
    found = search.fit(pd.concat([X, X_val], ignore_index=True), pd.concat([y, y_val], ignore_index=True)).best_params_
    return {**found, "C": found["C"] * (n_all / n) ** 0.5}


def make_model(problem_type: str, params: dict[str, Any], n_features: int) -> Any:
    """Return the estimator; parameters of the terms become those of its oracle."""
    from cvxens import AdditiveClassifier, AdditiveRegressor
    from cvxens.colgen.oracles import AdditiveTerms

    params = dict(params)
    terms = {name: params.pop(name) for name in ("n_bins", "pair_cost") if name in params}
    if terms:
        params["oracle"] = partial(AdditiveTerms, **terms)
    if n_features > WIDE:
        params["pairs"] = False
    return (AdditiveRegressor if problem_type == "regression" else AdditiveClassifier)(**params)
