"""Every verb that reads files says with the same code that a path is wrong, or that a file is no kernel."""

import pytest
from click.testing import CliRunner

from sassql.cli.main import main

VERBS = ["inspect", "show", "classify", "invariants", "advise"]


@pytest.mark.parametrize("verb", VERBS)
def test_a_path_that_is_not_there_is_bad_usage(verb, tmp_path):
    done = CliRunner().invoke(main, [verb, str(tmp_path / "nothing.cubin")])
    assert done.exit_code == 2
    assert "no such file or folder" in done.output


@pytest.mark.parametrize("verb", VERBS)
def test_a_file_that_is_no_kernel_is_bad_input(verb, tmp_path):
    file = tmp_path / "words.cubin"
    file.write_text("words\n")
    done = CliRunner().invoke(main, [verb, str(file)])
    assert done.exit_code == 3
    assert "words.cubin" in done.output
