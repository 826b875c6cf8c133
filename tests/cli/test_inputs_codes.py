"""Every verb that reads files says with the same code that a path is wrong, or that a file is no kernel."""

import pytest

VERBS = ["inspect", "show", "classify", "invariants", "advise"]


@pytest.mark.parametrize("verb", VERBS)
def test_a_path_that_is_not_there_is_bad_usage(sassql, verb, tmp_path):
    done = sassql(verb, tmp_path / "nothing.cubin", "--format", "jsonl")
    assert done.code == 2
    assert "no such file or folder" in done.out + done.err


@pytest.mark.parametrize("verb", VERBS)
def test_a_file_that_is_no_kernel_is_bad_input(sassql, verb, tmp_path):
    file = tmp_path / "words.cubin"
    file.write_text("words\n")
    done = sassql(verb, file, "--format", "jsonl")
    assert done.code == 3
    assert "words.cubin" in done.out + done.err


@pytest.mark.parametrize("verb", VERBS)
def test_people_read_the_reason_on_a_line_of_its_own(sassql, verb, tmp_path):
    done = sassql(verb, tmp_path / "nothing.cubin")
    assert any("nothing.cubin: no such file or folder" in line for line in done.err.splitlines())
