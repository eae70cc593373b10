#!/usr/bin/env python3
"""Writes the tables under ../Cases/tables: the expected values come from this reference, never from the engine.

Usage: python3 generate.py (needs `pip install pymongo` for the BSON cases only, as their independent source).
"""

import pathlib
import sys

import tables

OUT = pathlib.Path(__file__).parent.parent / "Cases" / "tables"


def main():
    count = 0
    for path, header, cases in tables.everything():
        target = OUT / (path + ".json")
        target.parent.mkdir(parents=True, exist_ok=True)
        lines = ["{" + "".join('"%s":%s,' % (key, value) for key, value in header.items()) + '"cases":[']
        lines.append(",\n".join(" " + case for case in cases))
        target.write_text("\n".join(lines) + "\n]}\n")
        count += len(cases)
        print("%5d %s" % (len(cases), path))
    print("%5d cases" % count)


if __name__ == "__main__":
    sys.exit(main())
