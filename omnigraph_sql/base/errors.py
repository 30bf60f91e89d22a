"""The whole error tree. The class tells the caller's next move; fields carry facts, hints tell a person what to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Location:
    """A place in a text: 1-based line and column (in characters), half-open character and byte offsets."""

    source: str
    line: int
    column: int
    start: int
    end: int
    byte_start: int
    byte_end: int
    excerpt: str

    def __post_init__(self) -> None:
        if not (0 <= self.start <= self.end and 0 <= self.byte_start <= self.byte_end):
            raise ValueError("a location starts before it ends")
        if self.line < 1 or self.column < 1:
            raise ValueError("lines and columns count from 1")

    def drawing(self, columns: int | None = None) -> str:
        """The source line with carets under the place; lines longer than a screen of so many columns are cut around
        it."""
        number = str(self.line)
        gutter = " " * len(number)
        room = _EXCERPT_COLUMNS if columns is None else min(_EXCERPT_COLUMNS, columns - len(number) - 3)
        width = min(max(self.end - self.start, 1), max(len(self.excerpt) - self.column + 1, 1))
        lead, line = _window(self.excerpt, self.column - 1, max(room, _EXCERPT_COLUMNS_MIN))
        pad = "".join("\t" if c == "\t" else " " for c in line[:lead])
        carets = "^" * max(min(width, len(line) - lead), 1)
        return (
            f"{gutter}--> {self.source}:{self.line}:{self.column}\n"
            f"{gutter} |\n{number} | {line}\n{gutter} | {pad}{carets}"
        )


_EXCERPT_COLUMNS = 160
_EXCERPT_COLUMNS_MIN = 16


def _window(line: str, at: int, room: int) -> tuple[int, str]:
    """Cut a line that is too long around `at`; return where `at` now lies, and the cut."""
    if len(line) <= room:
        return at, line
    first = max(0, min(at - room // 4, len(line) - room))
    cut = line[first : first + room]
    return at - first, cut


class Error(Exception):
    """Root of every error the library raises on purpose, under the name PEP 249 gives to it.

    `code` is stable and meant for programs, `hint` is what a person should do next. What a DB-API connection raises
    knows its `sqlstate` too and, when a text is at fault, the place: `position`, `line` and `column`, counted from 1.
    """

    default_code: ClassVar[str] = "error"
    sqlstate: str | None = None
    position: int | None = None
    line: int | None = None
    column: int | None = None

    def __init__(self, message: str, *, hint: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.code = code or self.default_code

    def fields(self) -> Mapping[str, object]:
        """The facts of this error, by name."""
        return {}

    def to_dict(self) -> dict[str, object]:
        """`{"error": text, "code": …}` plus the fields and the hint."""
        body: dict[str, object] = {"error": self.message, "code": self.code}
        body.update(self.fields())
        if self.hint:
            body["hint"] = self.hint
        return body

    def report(self) -> str:
        """What a terminal shows."""
        lines = [f"error[{self.code}]: {self.message}"]
        if self.hint:
            lines.append(f"  = hint: {self.hint}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.message


class OmniError(Error):
    """Root of the tree whose classes tell the caller's next move: what everything but a DB-API connection raises."""


class DatabaseError(Error):
    """PEP 249: not the fault of how the interface is used. Two names of the tree are names of PEP 249 below it too."""


class LanguageError(OmniError):
    """Fix the text: it is malformed, names something unknown, or does not fit together."""

    default_code = "language"

    def __init__(
        self,
        message: str,
        *,
        at: Location,
        hint: str | None = None,
        code: str | None = None,
        expected: tuple[str, ...] = (),
        suggestion: str | None = None,
    ) -> None:
        # By name: in TextLimitExceeded the next class is ResourceLimitExceeded, which wants facts of its own.
        OmniError.__init__(self, message, hint=hint, code=code)
        self.at = at
        self.expected = expected
        self.suggestion = suggestion

    def fields(self) -> Mapping[str, object]:
        facts: dict[str, object] = {
            "line": self.at.line,
            "column": self.at.column,
            "span": [self.at.byte_start, self.at.byte_end],
        }
        if self.expected:
            facts["expected"] = list(self.expected)
        if self.suggestion is not None:
            facts["suggestion"] = self.suggestion
        return facts

    def report(self, columns: int | None = None) -> str:
        """What a terminal shows, of so many columns if that is known."""
        lines = [f"error[{self.code}]: {self.message}", self.at.drawing(columns)]
        if self.expected:
            lines.append(f"  = expected: {', '.join(self.expected)}")
        if self.suggestion is not None:
            lines.append(f"  = did you mean '{self.suggestion}'?")
        if self.hint:
            lines.append(f"  = hint: {self.hint}")
        return "\n".join(lines)


class ParseError(LanguageError):
    """The text is not a sentence of the language."""

    default_code = "parse"


class UnknownName(LanguageError):
    """A name that the catalog, the scope or the function list does not hold."""

    default_code = "unknown_name"


class TypeMismatch(LanguageError):
    """Things that exist but do not fit together; `code` is the T-code for `.gq`."""

    default_code = "type"


class BoundaryViolation(LanguageError):
    """A statement that may not stand where it stands: D₂, a write where only reads may be."""

    default_code = "boundary"


class NotSupported(LanguageError):
    """A well-formed statement this engine does not carry out; the hint gives a way round."""

    default_code = "not_supported"


class DataError(OmniError, DatabaseError):
    """The data is refused; change the data."""

    default_code = "data"


class ConstraintViolation(DataError):
    """A row breaks a rule of the schema: which rule, of which type and property, by which value and ids."""

    default_code = "constraint"

    def __init__(
        self,
        message: str,
        *,
        rule: str = "",
        type: str = "",
        properties: tuple[str, ...] = (),
        value: object = None,
        ids: tuple[str, ...] = (),
        hint: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.rule, self.type, self.properties, self.value, self.ids = rule, type, properties, value, ids

    def fields(self) -> Mapping[str, object]:
        facts: dict[str, object] = {"rule": self.rule, "type": self.type}
        if self.properties:
            facts["properties"] = list(self.properties)
        if self.value is not None:
            facts["value"] = str(self.value)
        if self.ids:
            facts["ids"] = list(self.ids)
        return facts


class KeyConflict(DataError):
    """A row with this key exists already."""

    default_code = "key_conflict"

    def __init__(
        self, message: str, *, type: str | None = None, id: str | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.type, self.id = type, id

    def fields(self) -> Mapping[str, object]:
        return {name: fact for name, fact in (("type", self.type), ("id", self.id)) if fact}


class ValueOutOfRange(DataError):
    """A value that its type cannot hold."""

    default_code = "value_out_of_range"


class ConflictError(OmniError):
    """Nothing happened; read again and start over."""

    default_code = "conflict"


class ReadSetChanged(ConflictError):
    """What the statement had read has changed since."""

    default_code = "read_set_changed"

    def __init__(self, message: str, *, member: str, expected: object, actual: object, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.member, self.expected, self.actual = member, expected, actual

    def fields(self) -> Mapping[str, object]:
        return {"member": self.member, "expected": self.expected, "actual": self.actual}


class ExpectedVersionMismatch(ConflictError):
    """A table moved between planning and publishing."""

    default_code = "conflict"

    def __init__(self, message: str, *, table_key: str, expected: int, actual: int, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.table_key, self.expected, self.actual = table_key, expected, actual

    def fields(self) -> Mapping[str, object]:
        conflict = {"table_key": self.table_key, "expected": self.expected, "actual": self.actual}
        return {"manifest_conflict": conflict}


class PreconditionFailed(ConflictError):
    """The branch head is not the commit the caller insisted on."""

    default_code = "precondition_failed"

    def __init__(self, message: str, *, expected: object, actual: object, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.expected, self.actual = expected, actual

    def fields(self) -> Mapping[str, object]:
        return {"expected": self.expected, "actual": self.actual}


class MergeConflicts(ConflictError):
    """Two branches changed the same thing in different ways."""

    default_code = "merge_conflicts"


class LimitError(OmniError):
    """Nothing happened; send less."""

    default_code = "limit"


class ResourceLimitExceeded(LimitError):
    """A named ceiling was passed."""

    default_code = "resource_limit"

    def __init__(self, message: str, *, resource: str, limit: int, actual: int, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.resource, self.limit, self.actual = resource, limit, actual

    def fields(self) -> Mapping[str, object]:
        return {"resource": self.resource, "limit": self.limit, "actual": self.actual}


class TextLimitExceeded(LanguageError, ResourceLimitExceeded):
    """A text that is too long, too deep or too wide to be compiled; both a language and a limit error."""

    default_code = "text_limit"

    def __init__(
        self, message: str, *, at: Location, resource: str, limit: int, actual: int, hint: str | None = None
    ) -> None:
        LanguageError.__init__(self, message, at=at, hint=hint)
        self.resource, self.limit, self.actual = resource, limit, actual

    def fields(self) -> Mapping[str, object]:
        return {**LanguageError.fields(self), **ResourceLimitExceeded.fields(self)}


class StorageError(OmniError):
    """Storage failed; `kind` is transient, configuration, not_found, permanent, interrupted (by Ctrl-C) or unknown."""

    default_code = "storage"
    KINDS: ClassVar[tuple[str, ...]] = (
        *("transient", "configuration", "not_found", "permanent"),
        *("interrupted", "unknown"),
    )

    def __init__(self, message: str, *, kind: str, hint: str | None = None) -> None:
        if kind not in self.KINDS:
            raise ValueError(f"unknown storage error kind {kind!r}")
        super().__init__(message, hint=hint)
        self.kind = kind

    def fields(self) -> Mapping[str, object]:
        return {"kind": self.kind}


class VersionReclaimed(StorageError):
    """A past state was asked for whose rows a cleanup took away; a newer one can be read."""

    default_code = "historical_version_reclaimed"

    def __init__(self, message: str) -> None:
        super().__init__(message, kind="not_found", hint="it was reclaimed by a cleanup; read a newer state")


class RecoveryRequired(OmniError):
    """Something durable is half done; recovery decides, nobody retries."""

    default_code = "recovery_required"

    def __init__(self, message: str, *, operation_id: str, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.operation_id = operation_id

    def fields(self) -> Mapping[str, object]:
        return {"operation_id": self.operation_id}


class CommitUnknown(OmniError):
    """The publish was sent and its outcome not seen; ask by commit id."""

    default_code = "commit_unknown"

    def __init__(self, message: str, *, commit_id: str, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.commit_id = commit_id

    def fields(self) -> Mapping[str, object]:
        return {"commit_id": self.commit_id}


class ExecutionError(OmniError):
    """A statement that failed while it ran: a division by zero, a number out of range, a step not carried out."""

    default_code = "execution"


class Interrupted(ExecutionError):
    """Somebody asked for the statement to stop; nothing of it remains."""

    default_code = "interrupted"


class FormatError(OmniError):
    """The graph's format stamp is too old, too new or damaged."""

    default_code = "format"


class InternalError(OmniError, DatabaseError):
    """Our bug: a state that no input should reach."""

    default_code = "internal"
