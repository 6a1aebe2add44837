"""`cvxens certify`: how far a saved model is from the optimum."""

from __future__ import annotations

import json
from pathlib import Path

import click


@click.command()
@click.argument("model")
@click.argument("data", required=False)
@click.option("--tol", type=float, help="Fail unless every relative gap is proven to be at most TOL.")
@click.option(
    "--json", "json_file", metavar="FILE", type=click.Path(path_type=Path), help="Write a report to FILE as JSON."
)
def certify(model: str, data: str | None, tol: float | None, json_file: Path | None) -> int:
    """Say how far the saved MODEL is from the optimum of its formulation on DATA, over all hypotheses.

    DATA is a file with features and target, as that of `cvxens fit`. Without it, the certificate of the fit is shown.

    Exit status 1 where --tol is given and a certificate is not proven to be within it.
    """
    from cvxens import load_model
    from cvxens.cli.files import write
    from cvxens.cli.models import certificates_of, encoder_of, told
    from cvxens.cli.reports import print_certificates, proofs
    from cvxens.datasets import load_samples
    from cvxens.errors import InvalidInput

    fitted = load_model(model)
    found = getattr(fitted, "certificate_", [])
    write("--json", json_file, "")
    if data is not None:
        X, y, remarks = load_samples(data, fitted.n_features_in_, encoder_of(fitted))
        for remark in remarks:
            click.echo(f"note: {remark}", err=True)
        if y is None:
            raise InvalidInput(data, "found no target", "give the classes in the last column")
        if not hasattr(fitted, "certify"):
            raise InvalidInput(
                "MODEL", f"found a {type(fitted).__name__}, which is certified where it is fitted", "leave DATA out"
            )
        with told(data):
            found = fitted.certify(X, y)
    certificates = certificates_of(found)
    if not certificates:
        raise InvalidInput(
            "MODEL", f"found a {type(fitted).__name__}, which has no certificate", "fit what it is made of"
        )
    print_certificates(certificates, fitted)
    proven = proofs(certificates, fitted, "all hypotheses of its oracle")
    for line in proven:
        click.echo(line)
    report = {
        "model": type(fitted).__name__,
        "on": data or "the training sample",
        "certificates": [certificate.to_dict() for certificate in certificates],
        "proof": proven,
    }
    write("--json", json_file, json.dumps(report, indent=2) + "\n")
    return 1 if tol is not None and not all(certificate.holds(tol) for certificate in certificates) else 0
