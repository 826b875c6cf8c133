"""Ten thousand different kernels, for reports and batches: elementwise maps of random expressions.

    python benchmarks/many_kernels.py FOLDER [--kernels 10000] [--file 200]

Writes CUDA files that `sassql report FOLDER -o pages/` compiles and shows. The same numbers every time: expressions
come from a fixed seed, and no two kernels of a run have the same one.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

_UNARY = ("fabsf({})", "-{}", "fmaxf({}, 0.0f)", "sqrtf(fabsf({}))", "{0} * {0}", "__expf({})", "truncf({})")
_BINARY = ("{} + {}", "{} - {}", "{} * {}", "fmaxf({}, {})", "fminf({}, {})", "fmaf({}, {}, x)")
_LEAVES = ("x", "y", "a")


def expression(random_: random.Random, depth: int) -> str:
    """A C expression over x, y (loaded) and a (a parameter)."""
    if depth == 0:
        return random_.choice((*_LEAVES, f"{random_.randint(1, 99)}.5f"))
    if random_.random() < 0.4:
        return "(" + random_.choice(_UNARY).format(expression(random_, depth - 1)) + ")"
    left, right = expression(random_, depth - 1), expression(random_, random_.randint(0, depth - 1))
    return "(" + random_.choice(_BINARY).format(left, right) + ")"


def kernel(number: int, text: str) -> str:
    return f"""extern "C" __global__ void map_{number:05}(const float* p, const float* q, float* out, float a, int n) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {{ float x = p[i], y = q[i]; out[i] = x + y * ({text}); }}
}}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kernels", type=int, default=10_000)
    parser.add_argument("--file", type=int, default=200)
    options = parser.parse_args()
    random_ = random.Random(7)
    texts: dict[str, None] = {}
    while len(texts) < options.kernels:
        texts[expression(random_, random_.randint(1, 4))] = None
    options.folder.mkdir(parents=True, exist_ok=True)
    made = [kernel(number, text) for number, text in enumerate(texts)]
    for start in range(0, len(made), options.file):
        path = options.folder / f"maps_{start // options.file:03}.cu"
        path.write_text("\n".join(made[start : start + options.file]))


if __name__ == "__main__":
    main()
