"""Patterns of names and paths, as the server reads them."""

from __future__ import annotations

import functools
import re


@functools.lru_cache(maxsize=1024)
def path_regex(glob: str) -> re.Pattern[str]:
    """A glob over a whole path: `*` stays in a folder, `**` crosses folders, and without a slash any depth is meant."""
    plain = glob.removeprefix("./")
    anywhere = plain if "/" in plain else f"**/{plain}"
    return re.compile(_translate(anywhere, separator=True))


@functools.lru_cache(maxsize=1024)
def tool_regex(pattern: str) -> re.Pattern[str]:
    """A whole name, without regard to case: `bash`, `edit|write`, `read_*`, `/mcp__.+/`."""
    if len(pattern) > 1 and pattern.startswith("/") and pattern.endswith("/"):
        inner = pattern[1:-1]
        re.compile(inner)
        return re.compile(f"(?:{inner})", re.IGNORECASE)
    names = (_translate(name.strip(), separator=False) for name in pattern.split("|"))
    return re.compile("|".join(f"(?:{name})" for name in names), re.IGNORECASE)


def _translate(glob: str, *, separator: bool) -> str:
    """A glob as a regular expression."""
    one, many = ("[^/]", "[^/]*") if separator else (".", ".*")
    out: list[str] = []
    at, depth = 0, 0
    while at < len(glob):
        rest = glob[at:]
        if separator and rest.startswith("**/") and (at == 0 or glob[at - 1] == "/"):
            out.append("(?:.*/)?")
            at += 3
            continue
        if separator and rest == "**" and (at == 0 or glob[at - 1] == "/"):
            out.append(".*")
            break
        letter = rest[0]
        at += 1
        if letter == "*":
            out.append(many)
        elif letter == "?":
            out.append(one)
        elif letter == "[" and (end := glob.find("]", at + 1)) > 0:
            inside = glob[at:end].replace("\\", "\\\\")
            out.append(f"[^{inside[1:]}]" if inside[0] in "!^" else f"[{inside}]")
            at = end + 1
        elif letter == "{":
            depth += 1
            out.append("(?:")
        elif letter == "}" and depth:
            depth -= 1
            out.append(")")
        elif letter == "," and depth:
            out.append("|")
        else:
            out.append(re.escape(letter))
    return "".join(out)
