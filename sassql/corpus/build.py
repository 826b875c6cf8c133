"""Compiles the sources of a corpus into the cache, and only those that changed.

Beside each cubin lies a JSON file with its provenance. A cubin is current while everything that
went into it is the same: the text of the source and of the local headers it includes, the options,
the architecture, the versions of the compiler and of the CUDA headers, and `BUILD_FORMAT`. Times of
files play no role, so a checkout or a copy compiles nothing anew.

The work is done by processes of our own that are started as ``python -c``. Unlike a process pool
they do not import the caller's ``__main__`` again, so a build may stand in a script without a guard
or in a notebook; and when a source crashes the compiler, only that source is lost.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import queue
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from sassql.corpus.manifest import Manifest, Source, load_manifest, local_headers, locked
from sassql.errors import Place, Problem, SassqlError, UsageError
from sassql.reading import compile as compiling
from sassql.reading.tools import sort_key, write_atomically

Progress = Callable[[int, int, str], None]
State = Literal["current", "stale", "missing"]
_Fields = dict[str, Any]
"""What can go through a pipe as JSON: a task, or the answer to it."""

BUILD_FORMAT = 1
"""Raised when the same inputs are to give another cubin or another provenance file."""

_DRAFT_SECONDS = 3600
"""Age from which a half-written file can only come from a build that was killed."""
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from sassql.corpus.build import serve; serve()"
)


@dataclass(frozen=True, slots=True)
class Inputs:
    """Everything that the machine code of a cubin depends on."""

    format: int
    source: str
    source_sha256: str
    headers: Mapping[str, str]
    """Included local files, relative to the corpus, and their SHA-256."""
    options: tuple[str, ...]
    arch: str
    compiler: str
    cuda_headers: str


@dataclass(frozen=True, slots=True)
class Provenance:
    """How a cubin in the cache came to be."""

    inputs: Inputs
    cubin_sha256: str
    seconds: float
    """What the compiler took."""
    log: str
    """Its warnings."""
    built: str
    """When, in UTC, as ISO 8601."""


@dataclass(frozen=True, slots=True)
class CubinState:
    """One source for one architecture, as the cache has it."""

    source: Source
    arch: str
    path: Path
    state: State
    reason: str
    """Why it is stale; empty otherwise."""
    inputs: Inputs
    provenance: Provenance | None


@dataclass(frozen=True, slots=True)
class BuiltCubin:
    """A cubin that is in the cache and matches its source."""

    source: Path
    arch: str
    path: Path
    fresh: bool
    """True: this build compiled it. False: it was there already."""
    provenance: Provenance


@dataclass(frozen=True, slots=True)
class BuildResult:
    """What a build left in ``folder``, and what it could not compile."""

    folder: Path
    cubins: tuple[BuiltCubin, ...]
    problems: tuple[Problem, ...]


def build(
    folder: Path,
    architectures: Sequence[str] | None = None,
    *,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> BuildResult:
    """Brings the cubins of a corpus folder up to date.

    Args:
        folder: has a ``manifest.toml``, or ``.cu`` files.
        architectures: names, or ``["all"]``; the manifest's by default.
        jobs: processes; as many as there are CPUs by default.
        progress: called with done, total and what was done last, in the caller's thread.

    A second build of the same corpus waits for the first. A source that does not compile is a
    problem of the result, and stale cubins, its own too, are removed.

    Raises:
        UsageError: a bad manifest, an unknown architecture, a cache that cannot be written.
        ToolMissingError: there is no NVRTC.
    """
    manifest = load_manifest(folder)
    wanted, problems = _compilable(manifest, architectures)
    report = progress or (lambda done, total, label: None)
    with locked(manifest.built, lambda: report(0, 0, "waiting for another build of this corpus")):
        found = states(manifest, wanted)
        missing = [state for state in found if state.state != "current"]
        made, failed = _compile_all(manifest, missing, jobs or os.cpu_count() or 1, report)
        current = {state.path: state.provenance for state in found if state.state == "current"} | made
        others = [arch for arch in built_architectures(manifest) if arch not in wanted]
        kept = {state.path for state in states(manifest, others) if state.state == "current"}
        _remove_all_but(manifest.built, kept.union(current))
    cubins = [
        BuiltCubin(manifest.folder / s.source.file, s.arch, s.path, s.path in made, provenance)
        for s in found
        if (provenance := current.get(s.path))
    ]
    return BuildResult(manifest.built, tuple(cubins), (*problems, *_grouped(failed)))


def wanted_architectures(manifest: Manifest, asked: Sequence[str] | None) -> tuple[str, ...]:
    """The architectures that a call means: its own, the manifest's, or with ``all`` every one.

    Raises:
        UsageError: an unknown architecture was asked for.
        ToolMissingError: there is no NVRTC to say which are known.
    """
    if not asked:
        return manifest.architectures
    if list(asked) == ["all"]:
        plain = [arch for arch in compiling.supported_architectures() if arch[-1].isdigit()]
        return manifest.all_architectures or tuple(plain)
    for arch in asked:
        compiling.check_architecture(arch)
    return tuple(dict.fromkeys(asked))


def states(manifest: Manifest, architectures: Iterable[str]) -> tuple[CubinState, ...]:
    """What the cache has of each source for each architecture; compiles nothing.

    Raises:
        ToolMissingError: there is no compiler, whose version would decide.
    """
    architectures = tuple(architectures)
    inputs = ((source, _inputs(manifest, source)) for source in manifest.sources)
    return tuple(_state(manifest, s, replace(i, arch=arch)) for s, i in inputs for arch in architectures)


def built_architectures(manifest: Manifest) -> tuple[str, ...]:
    """The architectures of which the cache has anything for this corpus."""
    folders = manifest.built.glob("sm_*") if manifest.built.is_dir() else ()
    return tuple(sorted((folder.name for folder in folders), key=sort_key))


def _compilable(manifest: Manifest, asked: Sequence[str] | None) -> tuple[list[str], list[Problem]]:
    """The architectures to build, and a problem for each of the manifest's that the compiler lacks."""
    wanted, known = wanted_architectures(manifest, asked), compiling.supported_architectures()
    place = Place(str(manifest.folder))
    problems = [Problem(f"this NVRTC does not compile for {a}", place) for a in wanted if a not in known]
    return [arch for arch in wanted if arch in known], problems


def _inputs(manifest: Manifest, source: Source) -> Inputs:
    """The inputs of a source; the architecture is still empty."""
    path = manifest.folder / source.file
    ptx = path.suffix == ".ptx"
    library = compiling.library("nvJitLink" if ptx else "NVRTC")
    headers = () if ptx else local_headers(path, manifest.include_folders(source))
    base = manifest.folder.resolve()
    return Inputs(
        format=BUILD_FORMAT,
        source=source.file,
        source_sha256=_digest(_content(path)),
        headers={os.path.relpath(header, base): _digest(_content(header)) for header in headers},
        options=() if ptx else manifest.options,
        arch="",
        compiler=f"{library.name} {library.version}",
        cuda_headers="" if ptx else compiling.cuda_headers().version,
    )


def _state(manifest: Manifest, source: Source, inputs: Inputs) -> CubinState:
    path = manifest.built / inputs.arch / (source.file.removesuffix(".cu") + ".cubin")
    provenance = _read_provenance(path)
    state: State = "current"
    reason = ""
    if not path.is_file():
        state = "missing"
    elif provenance is None:
        state, reason = "stale", "no provenance"
    elif provenance.inputs != inputs:
        old, new = asdict(provenance.inputs), asdict(inputs)
        state, reason = "stale", ", ".join(name for name in new if old[name] != new[name]) + " changed"
    elif _digest(path.read_bytes()) != provenance.cubin_sha256:
        state, reason = "stale", "cubin damaged"
    return CubinState(source, inputs.arch, path, state, reason, inputs, provenance)


def _read_provenance(cubin: Path) -> Provenance | None:
    try:
        content = json.loads(cubin.with_suffix(".json").read_bytes())
        inputs = content.pop("inputs")
        return Provenance(inputs=Inputs(**{**inputs, "options": tuple(inputs["options"])}), **content)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None  # half written, of another format, or edited: compile again


def _task(manifest: Manifest, state: CubinState) -> _Fields:
    return {
        "source": _content(manifest.folder / state.source.file).decode("utf-8", "surrogateescape"),
        "name": state.source.file,
        "arch": state.arch,
        "options": manifest.compiler_options,
        "include": [str(folder) for folder in manifest.include_folders(state.source)],
        "target": str(state.path),
    }


def _compile_all(
    manifest: Manifest, wanted: Sequence[CubinState], jobs: int, report: Progress
) -> tuple[dict[Path, Provenance], list[tuple[Problem, str]]]:
    """Compiles what is wanted; gives provenance by cubin, and problems with their architecture."""
    made: dict[Path, Provenance] = {}
    failed: list[tuple[Problem, str]] = []
    report(0, len(wanted), "")
    tasks = [_task(manifest, state) for state in wanted]
    with contextlib.closing(_answers(tasks, jobs, manifest.folder)) as answers:
        for done, (index, answer) in enumerate(answers, start=1):
            state = wanted[index]
            if "message" in answer:
                place = Place(**answer["place"])
                place = replace(place, file=str(manifest.folder / (place.file or state.source.file)))
                failed.append((Problem(**{**answer, "place": place}), state.arch))
            else:
                made[state.path] = Provenance(inputs=state.inputs, **answer)
                content = json.dumps(asdict(made[state.path]), indent=1).encode()
                write_atomically(state.path.with_suffix(".json"), content)
            report(done, len(wanted), f"{state.source.file} {state.arch}")
    return made, failed


def _answers(tasks: Sequence[_Fields], jobs: int, folder: Path) -> Generator[tuple[int, _Fields]]:
    """The answer to each task with its index, in the order in which they come."""
    workers = [_Worker(folder) for _ in range(min(jobs, len(tasks)))]
    idle: queue.SimpleQueue[_Worker] = queue.SimpleQueue()
    for worker in workers:
        idle.put(worker)

    def ask(task: _Fields) -> _Fields:
        worker = idle.get()
        try:
            return worker.ask(task)
        finally:
            idle.put(worker)

    pool = ThreadPoolExecutor(max(1, len(workers)))
    try:
        futures = {pool.submit(ask, task): index for index, task in enumerate(tasks)}
        for future in as_completed(futures):
            yield futures[future], future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for worker in workers:
            worker.stop()


class _Worker:
    """A process that compiles one task after the other; a crash costs the task that made it.

    It runs in the corpus folder: the names of sources are relative to that, so that no cubin
    depends on where the corpus lies, and NVRTC looks for local headers beside the name.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[str] | None = None
        self._stopped = False

    def ask(self, task: _Fields) -> _Fields:
        if self._stopped:
            return {}
        if self._process is None:
            path = json.dumps([str(Path(entry).absolute()) for entry in sys.path])
            pipe = subprocess.PIPE
            self._process = subprocess.Popen(
                [sys.executable, "-c", _START, path], stdin=pipe, stdout=pipe, text=True, cwd=self._folder
            )
        assert self._process.stdin and self._process.stdout
        try:
            self._process.stdin.write(json.dumps(task) + "\n")
            self._process.stdin.flush()
            if line := self._process.stdout.readline():
                return dict(json.loads(line))
        except BrokenPipeError:
            pass  # it died before it read the task
        process, self._process = self._process, None
        process.communicate()
        code = process.returncode
        how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
        return asdict(Problem(f"the compiler was stopped {how}", Place(task["name"]), kind="compile"))

    def stop(self) -> None:
        self._stopped = True
        if process := self._process:
            process.kill()
            process.communicate()


def serve() -> None:
    """The life of a worker process: tasks as lines of JSON on stdin, answers on stdout."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent stops us
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # nothing that a library prints may get between the answers
    for line in sys.stdin:
        print(json.dumps(compile_task(json.loads(line))), file=answers, flush=True)


def compile_task(task: _Fields) -> _Fields:
    """Compiles one task and writes its cubin; the fields of a `Provenance`, or those of a `Problem`."""
    source, name, arch, started = task["source"], task["name"], task["arch"], time.perf_counter()
    try:
        if name.endswith(".ptx"):
            done = compiling.compile_ptx(source, name=name, arch=arch)
        else:
            told = {"options": task["options"], "include": task["include"]}
            done = compiling.compile_cuda(source, name=name, arch=arch, **told)
        seconds = round(time.perf_counter() - started, 4)
        write_atomically(Path(task["target"]), done.cubin)
    except SassqlError as error:
        return asdict(Problem.of(error))
    except OSError as error:
        return asdict(Problem(f"cannot be written: {error.strerror}", Place(task["target"])))
    built = datetime.now(UTC).isoformat(timespec="seconds")
    return {"cubin_sha256": _digest(done.cubin), "seconds": seconds, "log": done.log, "built": built}


def _grouped(failed: Sequence[tuple[Problem, str]]) -> tuple[Problem, ...]:
    """One problem for all architectures that it has."""
    archs: dict[Problem, list[str]] = {}
    for problem, arch in failed:
        archs.setdefault(problem, []).append(arch)
    return tuple(
        replace(problem, message=f"{problem.message} ({', '.join(sorted(names, key=sort_key))})")
        for problem, names in archs.items()
    )


def _remove_all_but(folder: Path, cubins: Collection[Path]) -> None:
    """Removes stale cubins and their provenance, and what killed builds left half written."""
    for path in folder.glob("sm_*/**/*"):
        if path.is_file() and path.with_suffix(".cubin") not in cubins:
            draft = path.name.startswith(".")
            if not draft or path.stat().st_mtime < time.time() - _DRAFT_SECONDS:
                path.unlink()


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", place=Place(str(path))) from None


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
