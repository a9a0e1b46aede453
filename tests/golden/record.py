"""Records the golden numbers anew: `python -m tests.golden.record [SECTION ...]`; a commit says why they changed."""

import json
import sys
from pathlib import Path

from tests.golden.cases import SECTIONS, prepare

FOLDER = Path(__file__).resolve().parent


def main(names):
    prepare()
    for section in names or SECTIONS:
        numbers = {}
        for case, found in SECTIONS[section]():
            numbers[case] = found
            print(section, case, len(found), flush=True)
        text = json.dumps(numbers, indent=0, sort_keys=True, ensure_ascii=False)
        (FOLDER / f"{section}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
