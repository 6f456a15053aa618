"""The checkout as the tidy tests read it: parsed modules, what they import, what they use."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "src/onthedot/"
MADE = {".git", ".venv", ".peers", "node_modules", "__pycache__", "build", "dist"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Module:
    path: str  # from the root of the checkout, with '/'
    text: str
    tree: ast.Module

    @property
    def inside(self) -> str:
        """The path below src/onthedot, such as `core/model.py`."""
        return self.path.removeprefix(PACKAGE)

    @property
    def room(self) -> str:
        """The top-level folder or module it belongs to."""
        return self.inside.split("/")[0].removesuffix(".py")


def parse(path: str, text: str) -> Module:
    return Module(path=path, text=text, tree=ast.parse(text, path))


def modules(*folders: str) -> list[Module]:
    """Every Python file in these folders (or these files), in a fixed order."""
    return [
        parse(path, (ROOT / path).read_text(encoding="utf-8"))
        for path in files()
        if path.endswith(".py") and path.startswith(folders)
    ]


def files() -> list[str]:
    """Every file that is, or would be, committed; outside a git checkout, every file not made."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listing.returncode == 0:
        names = set(listing.stdout.split("\0")) - {""}
        return sorted(name for name in names if (ROOT / name).is_file())
    found = (path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file())
    return sorted(
        path.as_posix()
        for path in found
        if MADE.isdisjoint(path.parts) and not any(part.endswith("_cache") for part in path.parts)
    )


def functions(module: Module) -> Iterator[Function]:
    for node in ast.walk(module.tree):
        if isinstance(node, Function):
            yield node


def imports(module: Module) -> Iterator[tuple[int, str]]:
    """(line, absolute name) of all it imports; `from a import b` gives both `a` and `a.b`."""
    package = module.path.removeprefix("src/").split("/")[:-1]
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            stem = ".".join([*base, *([node.module] if node.module else [])])
            yield node.lineno, stem
            for alias in node.names:
                yield node.lineno, f"{stem}.{alias.name}"


def uses(module: Module) -> Iterator[tuple[int, str]]:
    """(line, full name) of what is used through an import, whatever it was imported as."""
    origin: dict[str, str] = {}
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.split(".")[0]
                origin[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                origin[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    for node in ast.walk(module.tree):
        name = dotted(node)
        first, _, rest = name.partition(".")
        if first in origin:
            yield getattr(node, "lineno", 0), ".".join(filter(None, (origin[first], rest)))


def dotted(node: ast.AST) -> str:
    """`a.b.c` for such an expression, '' for any other."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (stem := dotted(node.value)):
        return f"{stem}.{node.attr}"
    return ""


def docstring(node: ast.AST) -> ast.Expr | None:
    body = getattr(node, "body", None)
    if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
        value = body[0].value
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            return body[0]
    return None
