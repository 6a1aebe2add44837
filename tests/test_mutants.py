"""The list of mutants is of the code as it is; `make mutants` runs them."""

import pytest
from mutants import MUTANTS, ROOT


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.file)
def test_a_mutant_changes_one_place_and_has_tests(mutant):
    assert (ROOT / mutant.file).read_text().count(mutant.text) == 1
    assert mutant.becomes != mutant.text
    assert [name for name in mutant.tests if not (ROOT / name).is_file()] == []
