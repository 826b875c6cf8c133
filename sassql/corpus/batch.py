"""One question to every kernel of many files, on all cores, with bounded memory and nothing lost.

Cubins are taken out of their containers here and read by worker processes, which share the word table
on disk. Answers come in the order of the input. What fails is a `Problem` in its place: a file, an
entry, a kernel whose question raised an error, or entries whose process died.
"""

from __future__ import annotations

import gc
import itertools
import multiprocessing
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import sassql.facts  # noqa: F401  (registers the analyses that questions ask for)
from sassql.corpus import ingest
from sassql.errors import Place, Problem, SassqlError
from sassql.model.kernel import Kernel
from sassql.model.program import Module
from sassql.reading.cubin import read_modules
from sassql.reading.load import EVERYTHING, Options, RawCubin

Answer = dict[str, Any]
Question = Callable[[Kernel], Answer]
Setup = Callable[[], Question]
"""Makes the question, once in each process: a function of a module, so that it can be sent there."""
Select = Callable[[Kernel], bool]

TASK_BYTES = 256 << 10
"""Cubins that are sent to a process together; a bigger one is shared among several, kernel by kernel."""
MOST_PARTS = 32
ALONE_BYTES = 128 << 10
"""Below this everything is done here: starting processes takes longer."""


@dataclass(frozen=True, slots=True)
class Done:
    """What one task gave."""

    answers: list[Answer] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    kernels: int = 0
    cubins: int = 0
    """Cubins that this task finished."""


@dataclass(frozen=True, slots=True)
class _Task:
    cubins: tuple[RawCubin, ...]
    part: int = 0
    parts: int = 1


@dataclass(frozen=True, slots=True)
class Batch:
    """How to ask: ``jobs`` processes, all cores without it; ``select`` picks kernels."""

    setup: Setup
    options: Options = EVERYTHING
    select: Select | None = None
    jobs: int = 0

    def run(self, paths: Sequence[Path], *, progress: Any = None) -> Iterator[Done]:  # noqa: ANN401
        """Ask every kernel of ``paths``; ``progress`` is called while a corpus is compiled."""
        jobs = self.jobs or os.cpu_count() or 1
        inputs = _inputs(paths, self.options, progress)
        first, size = [], 0
        while jobs > 1 and size < ALONE_BYTES and (item := next(inputs, None)) is not None:
            first.append(item)
            size += len(item.data) if isinstance(item, RawCubin) else 0
        work = itertools.chain(first, inputs)
        if jobs == 1 or size < ALONE_BYTES:
            yield from self._here(work)
        else:
            yield from _Pool(self, jobs).run(work)

    def _here(self, work: Iterator[Any]) -> Iterator[Done]:
        worker = _Worker(self)
        for item in _tasks(work, 1):
            yield worker.do(item)


def _inputs(paths: Sequence[Path], options: Options, progress: Any) -> Iterator[Any]:  # noqa: ANN401
    for path in paths:
        try:
            yield from ingest.take(path, options, progress=progress)
        except SassqlError as error:
            yield Problem.of(error.at(file=str(path)))


def _tasks(work: Iterator[Any], jobs: int) -> Iterator[Any]:
    """Cubins in bundles of some size, big ones in parts; modules and problems as they are."""
    bundle: list[RawCubin] = []
    for item in work:
        parts = _parts(item, jobs)
        if parts == 1:
            bundle.append(item)
        full = sum(len(cubin.data) for cubin in bundle) >= TASK_BYTES
        if bundle and (full or parts != 1):
            yield _Task(tuple(bundle))
            bundle = []
        if parts == 0:
            yield item
        elif parts > 1:
            yield from (_Task((item,), part, parts) for part in range(parts))
    if bundle:
        yield _Task(tuple(bundle))


def _parts(item: Any, jobs: int) -> int:  # noqa: ANN401
    """Into how many tasks a cubin is cut; 0 for what is no cubin."""
    if not isinstance(item, RawCubin):
        return 0
    return max(1, min(MOST_PARTS, -(-len(item.data) // TASK_BYTES))) if jobs > 1 else 1


class _Worker:
    """Asks the kernels of tasks, one after the other."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        self._question: Question | None = None
        self._last: tuple[RawCubin | None, list[Any]] = (None, [])
        """The cubin that was read last: its parts come one after the other."""

    def do(self, item: Any) -> Done:  # noqa: ANN401
        if isinstance(item, Problem):
            return Done(problems=[item])
        done = Done([], [])
        if isinstance(item, Module):
            kernels = self._ask(item, done)
            return replace(done, kernels=kernels)
        kernels = 0
        cubins = [(c.data, c.source) for c in item.cubins]
        for result in self._read(item):
            if isinstance(result, SassqlError):
                if not item.part:
                    done.problems.append(Problem.of(result))
                continue
            module, problems = result
            if not self._batch.options.wants(module.arch):
                continue
            if not item.part:
                done.problems.extend(problems)
            kernels += self._ask(module, done, item.part, item.parts)
        last = item.part == item.parts - 1
        return replace(done, kernels=kernels, cubins=len(cubins) if last else 0)

    def _read(self, task: _Task) -> list[Any]:
        if task.parts == 1:
            return list(read_modules([(c.data, c.source) for c in task.cubins], jobs=1))
        if self._last[0] != task.cubins[0]:
            cubin = task.cubins[0]
            self._last = cubin, list(read_modules([(cubin.data, cubin.source)], jobs=1))
        return self._last[1]

    def _ask(self, module: Module, done: Done, part: int = 0, parts: int = 1) -> int:
        if self._question is None:
            self._question = self._batch.setup()
        asked = 0
        for number, kernel in enumerate(module.kernels):
            if number * parts // len(module.kernels) != part:
                continue
            if self._batch.select is not None and not self._batch.select(kernel):
                continue
            asked += 1
            try:
                done.answers.append(self._question(kernel))
            except Exception as error:  # one kernel must not stop the rest
                done.problems.append(_failed(kernel, error))
            kernel.forget()
        return asked


def _failed(kernel: Kernel, error: Exception) -> Problem:
    place = Place(kernel.source.file, entry=kernel.source.entry)
    reason = error.message if isinstance(error, SassqlError) else f"{type(error).__name__}: {error}"
    return Problem(
        f"{kernel.name}: {reason}", place, "the other kernels were asked; please report it", "kernel"
    )


_worker: _Worker | None = None


def _start(batch: Batch) -> None:
    global _worker  # noqa: PLW0603  (one in each process of the pool)
    _worker = _Worker(batch)
    gc.disable()  # a pass over the heap for every few kernels costs more than the kernels; see `_Worker.do`


def _do(task: _Task) -> Done:
    assert _worker is not None
    done = _worker.do(task)
    gc.collect()
    return done


class _Pool:
    """Worker processes that are started again when one dies."""

    def __init__(self, batch: Batch, jobs: int) -> None:
        self._batch = batch
        self._jobs = jobs
        self._local = _Worker(batch)
        self._executor = self._started(jobs)

    def _started(self, jobs: int) -> ProcessPoolExecutor:
        # not forked: reading uses threads, and a fork of a process with threads may hang
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(jobs, context, _start, (self._batch,))

    def run(self, work: Iterator[Any]) -> Iterator[Done]:
        waiting: deque[tuple[Any, Future[Done] | None]] = deque()
        try:
            for item in _tasks(work, self._jobs):
                sent = self._submit(item) if isinstance(item, _Task) else None
                waiting.append((item, sent))
                while len(waiting) > 3 * self._jobs or (waiting and self._ready(waiting[0][1])):
                    yield self._result(waiting)
            while waiting:
                yield self._result(waiting)
        finally:
            self._executor.shutdown(wait=False, cancel_futures=True)

    def _submit(self, task: _Task) -> Future[Done] | None:
        try:
            return self._executor.submit(_do, task)
        except BrokenProcessPool:  # `_result` starts another pool when the order reaches it
            return None

    @staticmethod
    def _ready(future: Future[Done] | None) -> bool:
        return future is None or future.done()

    def _result(self, waiting: deque[tuple[Any, Future[Done] | None]]) -> Done:
        item, future = waiting.popleft()
        if not isinstance(item, _Task):
            return self._local.do(item)
        try:
            if future is not None:
                return future.result()
        except BrokenProcessPool:
            pass
        done = Done([], [])
        for cubin in item.cubins:
            one = self._alone(replace(item, cubins=(cubin,)))
            done.answers.extend(one.answers)
            done.problems.extend(one.problems)
            done = replace(done, kernels=done.kernels + one.kernels, cubins=done.cubins + one.cubins)
        self._executor.shutdown(wait=False)
        self._executor = self._started(self._jobs)
        again = [(i, self._submit(i) if isinstance(i, _Task) else None) for i, _ in waiting]
        waiting.clear()
        waiting.extend(again)
        return done

    def _alone(self, task: _Task) -> Done:
        """A task in a process of its own, after the pool that had it died: it may have been the cause."""
        with self._started(1) as executor:
            try:
                return executor.submit(_do, task).result()
            except BrokenProcessPool:
                source = task.cubins[0].source
                place = Place(source.file, entry=source.entry)
                message = "the process that read it died, perhaps for lack of memory"
                hint = "the other entries were read; try it with --jobs 1"
                return Done(problems=[Problem(message, place, hint, "kernel")])
