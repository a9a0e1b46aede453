"""Refuse strong copyleft in what the core of Haltere depends on.

Walks the dependencies of the installed package, extras left out, and reads each licence from the installed
metadata. GPL and AGPL end the run with 1; LGPL may be used as a library and passes. A package without any
statement ends it too: somebody has to look.
"""

import re
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

STRONG = re.compile(
    r"(?<!L)(?<!Lesser )(?<!Library )\b(A?GPL|(Affero )?General Public License)", re.IGNORECASE
)


def licence(found: Distribution) -> str:
    """What the package says about its licence: the expression, else classifiers, else the first line."""
    fields = found.metadata
    if expression := fields.get("License-Expression"):
        return str(expression)
    classifiers = [c for c in fields.get_all("Classifier") or [] if c.startswith("License ::")]
    text = (fields.get("License") or "").strip().splitlines()
    return "; ".join([c.rsplit(" :: ", 1)[-1] for c in classifiers] + text[:1])


def core(root: str) -> dict[str, str]:
    """Every package that `root` needs without extras, with its licence."""
    found: dict[str, str] = {}
    waiting = [root]
    while waiting:
        name = canonicalize_name(waiting.pop())
        if name in found:
            continue
        try:
            package = distribution(name)
        except PackageNotFoundError:
            continue  # asked for on another platform only
        found[name] = licence(package)
        for line in package.requires or []:
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                waiting.append(requirement.name)
    return found


def main() -> int:
    """Print the faulty packages, if any; the number of them decides the exit code."""
    packages = core("haltere")
    faults = [
        f"{name}: {text or 'no licence stated'}"
        for name, text in packages.items()
        if not text or STRONG.search(text)
    ]
    for fault in sorted(faults):
        print(f"licence not allowed in the core: {fault}", file=sys.stderr)
    print(f"licences of {len(packages)} core packages looked at, {len(faults)} not allowed")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
