"""Which files belong to the project: what git tracks or would track, or, outside a git checkout, what lies there."""

import pathlib
import subprocess

CPP = (".h", ".hpp", ".cpp", ".cu", ".cuh")
ROOT = pathlib.Path(__file__).resolve().parent.parent


def files(root=ROOT, suffixes=()):
    """Paths relative to root, sorted; only those that end in one of suffixes when some are given."""
    listed = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-co", "--exclude-standard", "-z", "."], capture_output=True, text=True
    )
    if listed.returncode == 0:
        found = {pathlib.Path(name) for name in listed.stdout.split("\0") if name}
    else:
        found = {path.relative_to(root) for path in root.rglob("*") if path.is_file()}
    return sorted(
        path
        for path in found
        if path.parts[0] not in (".git", "build")
        and (not suffixes or path.suffix in suffixes)
        and (root / path).is_file()
    )
