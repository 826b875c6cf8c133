"""Compare a kernel with a function in numpy: equal over the reals, and how far off in its own arithmetic."""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sassql.errors import UsageError
from sassql.insight.compare import (
    DEFAULT_TOLERANCE,
    REFUSED,
    SAMPLES,
    Comparison,
    elements,
    ended,
    shape_text,
)
from sassql.insight.coverage import Coverage
from sassql.insight.dag import Dag
from sassql.insight.evaluation import rounded
from sassql.insight.exact import Exact
from sassql.insight.ideal import Ideal, from_bits
from sassql.insight.idioms import Idioms
from sassql.insight.launch import FLOATS, Launch, Shape, read_launch
from sassql.insight.launching import Stage
from sassql.insight.levels import FLOAT_WIDTHS, LEVELS, NOT_SHOWN, close
from sassql.insight.machine import DEFAULT_BUDGET
from sassql.insight.running import Run, run
from sassql.insight.sampling import Draws
from sassql.insight.state import Fault, Refused
from sassql.model.kernel import Kernel

Function = Callable[..., Any]


def load_function(where: str) -> Function:
    """The function of ``FILE.py:NAME``.

    Raises:
        UsageError: no such file or function.
    """
    path, _, name = where.rpartition(":")
    if not path or not Path(path).is_file():
        raise UsageError(
            f"no such reference: {where}", hint="give a file and a function, such as ref.py:softmax"
        )
    spec = importlib.util.spec_from_file_location("sassql_reference", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = getattr(module, name, None)
    if not callable(found):
        raise UsageError(f"{path} has no function {name!r}")
    function: Function = found
    return function


def compare_with_numpy(
    kernel: Kernel,
    function: Function,
    launch: str | Path | Mapping[str, Any] | Launch,
    *,
    shapes: list[Shape] | None = None,
    tolerance: float = DEFAULT_TOLERANCE,
    budget: int = DEFAULT_BUDGET,
) -> Comparison:
    """Compare a kernel with a numpy function at random points.

    The function is called with the arguments of the launch that it has parameters for: buffers as flat
    arrays of doubles or integers, numbers, and the names of the shape. It gives a dict from outputs to
    arrays, or one array for the only output.

    Raises:
        UsageError: the launch does not fit the kernel, or the function fails.
    """
    described = launch if isinstance(launch, Launch) else read_launch(launch, kernel.name)
    every = tuple(shapes) if shapes else described.shapes
    name = getattr(function, "__name__", "function")
    result = Comparison(kernel.name, name, kernel.arch, "numpy", shapes=[dict(s) for s in every])
    covered = Coverage()
    for number, shape in enumerate(every):
        try:
            one = run(kernel, described.a, shape, crossing=number % 2 == 0, dag=Dag(), budget=budget)
        except Refused as reason:
            return ended(result, REFUSED, f"{kernel.name}: {reason}")
        except Fault as reason:
            return ended(result, LEVELS[NOT_SHOWN], f"{kernel.name}, {shape_text(shape)}: {reason}")
        covered.add([one])
        _judge(result, one, function, Draws.of(described, shape, SAMPLES))
    text = covered.missing(kernel)
    if text and not described.partial:
        return ended(result, REFUSED, text)
    if text:
        result.notes.append(text.partition(";")[0])
    shown = all(level != LEVELS[NOT_SHOWN] for level in result.outputs.values()) and bool(result.outputs)
    result.level = "E4" if shown else LEVELS[NOT_SHOWN]
    near = (result.error_a or 0.0) <= tolerance and bool(result.outputs)
    result.equivalences = {
        "bitwise": False,
        "numerical": near,
        "mathematical": shown,
        "semantic": shown or near,
    }
    return result


def _judge(result: Comparison, one: Run, function: Function, draws: Draws) -> None:
    for assumption in one.assumptions:
        text = f"A at {assumption.address:#x}: {assumption.text}"
        if text not in result.assumptions:
            result.assumptions.append(text)
    answers = [_answers(function, one.stage, draws, sample) for sample in range(draws.count)]
    for name, output in one.outputs.items():
        if not output.stored.any() or name not in answers[0]:
            if output.stored.any() and output.buffer.argument.direction != "scratch":
                result.notes.append(f"the reference has no output {name}")
            continue
        kind = output.buffer.argument.type
        nodes, _ = elements(one.dag, output, kind, output.stored, output.buffer.count)
        wanted = np.stack([np.asarray(answer[name]).reshape(-1) for answer in answers], axis=1)
        if len(wanted) != len(nodes):
            text = f"{name}: the kernel writes {len(nodes)} elements and the reference gives {len(wanted)}"
            raise UsageError(text)
        exact = Exact(one.dag, np.unique(nodes))
        ideal = Ideal(one.dag, np.unique(nodes), draws, Idioms(exact))
        bits = rounded(one.dag, nodes, draws)
        if kind in FLOAT_WIDTHS:
            width = FLOAT_WIDTHS[kind]
            same = close(ideal.of(nodes, width, kind == "bf16"), wanted.astype(np.float64))
            made = from_bits(bits, width, kind == "bf16")
            scale = float(np.abs(wanted[np.isfinite(wanted)]).max(initial=0.0)) or 1.0
            difference = np.abs(made - wanted)
            error = float(difference[np.isfinite(difference)].max(initial=0.0)) / scale
            result.error_a = max(result.error_a or 0.0, error)
        else:
            same = (bits.astype(np.uint32) == wanted.astype(np.int64).astype(np.uint32)).all(axis=1)
        old = result.outputs.get(name, "E4")
        result.outputs[name] = old if same.all() else LEVELS[NOT_SHOWN]
        if not same.all():
            wrong = np.flatnonzero(~same)
            result.reason = f"{name}: {len(wrong)} of {len(same)} elements differ, first {int(wrong[0])}"


def _answers(function: Function, stage: Stage, draws: Draws, sample: int) -> dict[str, npt.NDArray[Any]]:
    given = {**stage.shape, **_values(stage, draws, sample)}
    parameters = inspect.signature(function).parameters
    if not any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values()):
        given = {name: value for name, value in given.items() if name in parameters}
    try:
        found = function(**given)
    except Exception as error:
        raise UsageError(f"the reference fails: {type(error).__name__}: {error}") from None
    if isinstance(found, Mapping):
        return dict(found)
    outputs = [name for name, b in stage.buffers.items() if b.argument.direction in ("out", "inout")]
    return {outputs[0]: found} if len(outputs) == 1 else {}


def _values(stage: Stage, draws: Draws, sample: int) -> dict[str, Any]:
    """The arguments as numpy values, one sample of them."""
    found: dict[str, Any] = {}
    for argument in stage.side.arguments:
        kind = argument.type.removesuffix("x2")
        if argument.is_buffer:
            buffer = stage.buffers[argument.name]
            known = buffer.known
            found[argument.name] = (
                draws.values(argument.name, kind, buffer.count)[:, sample] if known is None else known
            )
        elif kind in FLOATS:
            fixed = argument.value and ".." not in argument.value
            count = 2 if argument.type.endswith("x2") else 1
            drawn = draws.values(argument.name, kind, count)[:, sample]
            number = float(np.float32(argument.value)) if fixed else float(drawn[0])
            found[argument.name] = number if count == 1 else drawn
    return found
