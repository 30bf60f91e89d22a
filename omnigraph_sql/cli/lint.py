"""`ogsql lint`: query files checked against a schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from omnigraph_sql.base.errors import LanguageError
from omnigraph_sql.cli.exit_codes import ExitCode, exit_code
from omnigraph_sql.cli.graphs import catalog_of, check_source, graph_option, schema_option, storage_option
from omnigraph_sql.cli.terminal import say, say_json, tell, tell_error
from omnigraph_sql.cli.texts import decoded, read_bytes, shown_name

if TYPE_CHECKING:
    from omnigraph_sql.base.catalog import Catalog
    from omnigraph_sql.bind.lint import Finding, LintReport

_EPILOG = """\b
Examples:
  ogsql lint air.gq --schema air.pg
  ogsql lint queries/*.gq --graph air.omni --format json
  cat air.gq | ogsql lint - --schema air.pg
"""


@click.command(epilog=_EPILOG)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@schema_option
@graph_option
@storage_option
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="How to show the findings.")
def lint(files: tuple[str, ...], schema: str | None, graph: str | None, storage: tuple[str, ...], form: str) -> int:
    """Check .gq files against a schema.

    Every query of every FILE is checked against a schema, or against that of a graph. Findings go to standard output,
    a summary to standard error. The exit code is 1 when there is an error, and 0 when there are warnings only. FILE
    is - for standard input.
    """
    check_source(schema, graph, "give --schema FILE or --graph GRAPH")
    as_json = form == "json"
    contents = [(shown_name(path), read_bytes(path)) for path in files]
    try:
        catalog = catalog_of(schema, graph, storage)
    except LanguageError as broken:
        tell_error(broken, as_json=as_json)
        return exit_code(broken)
    reports = [_report(name, data, catalog) for name, data in contents]
    if as_json:
        say_json([report.to_dict() for report in reports])
    else:
        _show(reports)
    return ExitCode.REFUSED if any(report.errors for report in reports) else ExitCode.OK


def _report(name: str, data: bytes, catalog: Catalog) -> LintReport:
    from omnigraph_sql.bind import lint as linter

    try:
        text = decoded(data, name)
    except LanguageError as broken:
        finding = linter.Finding(linter.Severity.ERROR, "Q000", broken.message, at=broken.at, hint=broken.hint)
        return linter.LintReport(name, (), (finding,))
    return linter.lint(text, catalog, name=name)


def _show(reports: list[LintReport]) -> None:
    for report in reports:
        for finding in report.findings:
            say(drawn(finding, report.name))
        counts = _counts(len(report.queries), report.errors, report.warnings)
        tell(f"{report.name}: {counts}")
    if len(reports) > 1:
        queries = sum(len(report.queries) for report in reports)
        errors, warnings = sum(report.errors for report in reports), sum(report.warnings for report in reports)
        tell(f"{len(reports)} files: {_counts(queries, errors, warnings)}")


def drawn(finding: Finding, name: str) -> str:
    """A finding as errors are drawn; one without a place in the text names the file alone."""
    lines = [f"{finding.severity}[{finding.code}]: {finding.message}"]
    lines.append(finding.at.drawing() if finding.at is not None else f" --> {name}")
    if finding.suggestion is not None:
        lines.append(f"  = did you mean '{finding.suggestion}'?")
    if finding.hint:
        lines.append(f"  = hint: {finding.hint}")
    return "\n".join(lines)


def _counts(queries: int, errors: int, warnings: int) -> str:
    words = ((queries, "query", "queries"), (errors, "error", "errors"), (warnings, "warning", "warnings"))
    return ", ".join(f"{number} {one if number == 1 else many}" for number, one, many in words)
