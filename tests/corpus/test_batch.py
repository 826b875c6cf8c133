"""The same answers from one process and from several, and nothing lost when something fails."""

from __future__ import annotations

import os
import signal

import pytest

from sassql.corpus import batch
from sassql.corpus.batch import Batch
from sassql.reading.load import Options


def count():
    return lambda kernel: {"kernel": kernel.name, "arch": kernel.arch, "count": len(kernel.form_ids)}


def fail_on_choice():
    def ask(kernel):
        if kernel.name == "choice":
            raise ValueError("no idea")
        return {"kernel": kernel.name}

    return ask


def die_on_choice():
    def ask(kernel):
        if kernel.name == "choice" and kernel.arch == "sm_80":
            os.kill(os.getpid(), signal.SIGKILL)
        return {"kernel": kernel.name, "arch": kernel.arch}

    return ask


def only_choice(kernel):
    return kernel.name == "choice"


@pytest.fixture
def paths(compiled, tmp_path):
    """Three cubins, a damaged file and a listing, in this order."""
    found = [compiled(arch).path for arch in ("sm_80", "sm_90", "sm_120")]
    bad = tmp_path / "bad.cubin"
    bad.write_bytes(found[0].read_bytes()[:1000])
    listing = tmp_path / "some.sass"
    listing.write_text("\t.target\tsm_90\n\t.text.some:\n/*0000*/ FADD R0, R1, R2 ;\n/*0010*/ EXIT ;\n")
    return [*found, bad, listing]


@pytest.fixture
def several(monkeypatch):
    """Processes for inputs of any size, each cubin in several parts."""
    monkeypatch.setattr(batch, "ALONE_BYTES", 0)
    monkeypatch.setattr(batch, "TASK_BYTES", 16 << 10)


def everything(paths, setup, jobs, **options):
    done = list(Batch(setup, jobs=jobs, **options).run(paths))
    return [a for d in done for a in d.answers], [p for d in done for p in d.problems], done


def test_several_processes_give_what_one_gives(paths, several):
    alone, problems, _ = everything(paths, count, 1)
    together, same_problems, done = everything(paths, count, 2)

    assert together == alone
    assert len(alone) > 20
    assert {a["arch"] for a in alone} == {"sm_80", "sm_90", "sm_120"}
    assert [str(p) for p in problems] == [str(p) for p in same_problems]
    assert [p.place.file for p in problems] == [str(paths[3])]
    assert sum(d.kernels for d in done) == len(alone)
    assert len(done) > len(paths)  # in parts


def test_what_is_selected(paths, several):
    answers, _, done = everything(paths, count, 2, options=Options(("sm_90",)), select=only_choice)

    assert [(a["kernel"], a["arch"]) for a in answers] == [("choice", "sm_90")]
    assert sum(d.kernels for d in done) == 1


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_kernel_that_fails_is_a_problem_and_the_rest_is_answered(paths, several, jobs):
    every, _, _ = everything(paths, count, 1)
    answers, problems, _ = everything(paths, fail_on_choice, jobs)

    assert len(answers) == len(every) - 3
    failed = [str(p) for p in problems if p.kind == "kernel"]
    assert len(failed) == 3
    assert failed[0].startswith(f"{paths[0]}: choice: ValueError: no idea; ")


def test_a_process_that_dies_loses_only_what_it_had(paths, several, monkeypatch):
    monkeypatch.setattr(batch, "TASK_BYTES", 1 << 20)  # the three cubins go together
    every, _, _ = everything(paths, count, 1)
    answers, problems, _ = everything([paths[1], paths[0], paths[2], *paths[3:]], die_on_choice, 2)

    dead = [(p.place.file, p.message) for p in problems if p.kind == "kernel"]
    assert dead == [(str(paths[0]), "the process that read it died, perhaps for lack of memory")]
    assert len(answers) == sum(a["arch"] != "sm_80" for a in every)
    assert len([p for p in problems if p.kind != "kernel"]) == 1
