"""Every error that sassql raises on purpose, and the problems it reports without stopping.

    SassqlError                 exit 3   base of the tree; message, place, hint
    ├── UsageError              exit 2   a wrong option, argument or path
    ├── PatternError            exit 2   a `.sq` file that does not parse or check
    ├── InputError              exit 3   a file or entry that cannot be read
    │   ├── NoDeviceCodeError   exit 3   the file is fine and holds no GPU code
    │   ├── UnsupportedArchError exit 3  GPU code of an architecture that no tool here reads
    │   └── ListingError        exit 3   a line of a listing that the grammar refuses
    ├── CompileError            exit 3   NVRTC or nvJitLink refused the source
    ├── ToolFailedError         exit 3   a CUDA tool stopped with an error
    └── ToolMissingError        exit 4   a CUDA tool or library was not found

A `Problem` is the same information as a value: it is collected while the good
files of a call go on, and printed at the end.
"""

from __future__ import annotations

from dataclasses import dataclass

EXIT_FOUND = 0
EXIT_NOTHING = 1
EXIT_USAGE = 2
EXIT_INPUT = 3
EXIT_TOOL = 4


@dataclass(frozen=True, slots=True)
class Place:
    """Where in which text something is wrong; lines and columns count from 1."""

    file: str = ""
    line: int | None = None
    column: int | None = None
    entry: str = ""
    """Name of the entry inside a container, such as ``3.sm_90.cubin``."""

    def __str__(self) -> str:
        parts = [self.file + (f"[{self.entry}]" if self.entry else "")]
        if self.line is not None:
            parts.append(str(self.line))
            if self.column is not None:
                parts.append(str(self.column))
        return ":".join(part for part in parts if part)


def _one_line(place: Place, message: str, hint: str) -> str:
    where = str(place)
    text = f"{where}: {message}" if where else message
    return f"{text}; {hint}" if hint else text


class SassqlError(Exception):
    """Base of all errors; `str()` is one line: place, message, hint."""

    exit_code = EXIT_INPUT

    def __init__(
        self,
        message: str,
        *,
        place: Place | None = None,
        hint: str = "",
        source_line: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.place = place or Place()
        self.hint = hint
        self.source_line = source_line

    def __str__(self) -> str:
        return _one_line(self.place, self.message, self.hint)

    def caret(self) -> str:
        """The source line with a caret under the column, or an empty string."""
        if not self.source_line or self.place.column is None:
            return ""
        lead = "".join("\t" if c == "\t" else " " for c in self.source_line[: self.place.column - 1])
        return f"    {self.source_line}\n    {lead}^"

    def at(self, *, file: str = "", entry: str = "") -> SassqlError:
        """The same error with file and entry filled in where they were not known yet."""
        self.place = Place(
            self.place.file or file, self.place.line, self.place.column, self.place.entry or entry
        )
        return self


class UsageError(SassqlError):
    """A wrong option, argument or path."""

    exit_code = EXIT_USAGE


class PatternError(SassqlError):
    """A `.sq` file that does not parse or does not check."""

    exit_code = EXIT_USAGE


class InputError(SassqlError):
    """A file or an entry of a container that cannot be read."""


class NoDeviceCodeError(InputError):
    """The file is intact and holds no GPU code."""


class UnsupportedArchError(InputError):
    """GPU code of an architecture that no tool here reads."""


class ListingError(InputError):
    """A line of a listing that the grammar refuses."""


class CompileError(SassqlError):
    """NVRTC or nvJitLink refused the source."""


class ToolFailedError(SassqlError):
    """A CUDA tool stopped with an error."""


class ToolMissingError(SassqlError):
    """A CUDA tool or library was not found."""

    exit_code = EXIT_TOOL


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that could not be read, kept as a value while the rest goes on."""

    message: str
    place: Place = Place()
    hint: str = ""
    kind: str = "input"
    """Class name of the error in lower case without ``Error``: ``unsupportedarch``, ``listing`` …"""
    exit_code: int = EXIT_INPUT

    def error(self) -> SassqlError:
        """The error that this problem was, for a caller with nothing else to return."""
        name = self.kind.replace("_", "")
        kind = next((e for e in _ERRORS if e.__name__.lower() == f"{name}error"), InputError)
        return kind(self.message, place=self.place, hint=self.hint)

    @classmethod
    def of(cls, error: SassqlError) -> Problem:
        kind = type(error).__name__.removesuffix("Error").lower()
        return cls(error.message, error.place, error.hint, kind, error.exit_code)

    def __str__(self) -> str:
        return _one_line(self.place, self.message, self.hint)


_ERRORS: tuple[type[SassqlError], ...] = (
    UsageError,
    PatternError,
    InputError,
    NoDeviceCodeError,
    UnsupportedArchError,
    ListingError,
    CompileError,
    ToolFailedError,
    ToolMissingError,
)
