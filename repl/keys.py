"""What keys do at the prompt."""

from __future__ import annotations

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import completion_is_selected, has_completions, has_focus
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

from omnigraph_sql.repl.multiline import is_complete
from omnigraph_sql.repl.shell import Shell


def keys(shell: Shell) -> KeyBindings:
    """The bindings of the shell, over those of the editor."""
    bindings = KeyBindings()
    editing = has_focus(DEFAULT_BUFFER)

    @bindings.add("enter", filter=editing & completion_is_selected)
    def take_suggestion(event: KeyPressEvent) -> None:
        event.current_buffer.complete_state = None

    @bindings.add("enter", filter=editing & ~completion_is_selected)
    def send_or_break(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if not shell.settings.multiline or (_on_last_line(buffer) and is_complete(buffer.text)):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n" + _indent(buffer))

    @bindings.add("escape", "enter", filter=editing)
    def send(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    @bindings.add("tab", filter=editing & ~has_completions)
    def suggest(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if not buffer.document.current_line_before_cursor.strip() and "\n" in buffer.text:
            buffer.insert_text("  ")
        else:
            buffer.start_completion(select_first=False, insert_common_part=True)

    @bindings.add("f3", filter=editing)
    def toggle_multiline(event: KeyPressEvent) -> None:
        shell.set("multiline", not shell.settings.multiline)
        event.app.invalidate()

    return bindings


def _on_last_line(buffer: Buffer) -> bool:
    """Whether no line follows that of the cursor: further up in a text Enter breaks the line."""
    return "\n" not in buffer.document.text_after_cursor.rstrip()


def _indent(buffer: Buffer) -> str:
    line = buffer.document.current_line_before_cursor
    return line[: len(line) - len(line.lstrip())]
