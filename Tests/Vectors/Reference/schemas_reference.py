#!/usr/bin/env python3
"""Writes ../schemas.json: schemas, values, and what is accepted under both dialects, by the package `jsonschema` (draft 4).

Usage: python3 schemas_reference.py (needs `pip install jsonschema==4.23.0`). What isn't JSON Schema's is written here from the
documentation: `bsonType`, and the liberties that App Services takes with a collection's schema.
"""

import decimal
import json
import math
import pathlib
import random
import re

import jsonschema
from jsonschema import Draft4Validator, ValidationError, validators

SOURCE = random.Random(20261124)
decimal.getcontext().prec = 400


class Typed:
    """A value that plain JSON has no type for, by its name in `bsonType`."""

    def __init__(self, kind, content):
        self.kind, self.content = kind, content

    def __eq__(self, other):
        return isinstance(other, Typed) and (self.kind, self.content) == (other.kind, other.content)

    def __hash__(self):
        return hash((self.kind, self.content))


class Int(int):
    kind = "int"


class Long(int):
    kind = "long"


class Double(float):
    kind = "double"


def kind(value):
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, list):
        return "array"
    if isinstance(value, dict):
        return "object"
    return value.kind


def extended(value):
    """Canonical Extended JSON."""
    if isinstance(value, dict):
        return {key: extended(one) for key, one in value.items()}
    if isinstance(value, list):
        return [extended(one) for one in value]
    name = kind(value)
    if name == "int":
        return {"$numberInt": str(int(value))}
    if name == "long":
        return {"$numberLong": str(int(value))}
    if name == "double":
        if math.isinf(value):
            return {"$numberDouble": "Infinity" if value > 0 else "-Infinity"}
        return {"$numberDouble": "NaN" if math.isnan(value) else repr(float(value))}
    if name == "date":
        return {"$date": {"$numberLong": str(value.content)}}
    if name == "objectId":
        return {"$oid": value.content}
    return value


def is_number(value):
    return kind(value) in ("int", "long", "double")


def holds(name, value):
    """Whether a number is of a number type that need not be its own."""
    if not is_number(value) or name not in ("int", "long", "double", "number"):
        return False
    if name == "number":
        return True
    if name == "double":
        return kind(value) != "long" or int(float(value)) == int(value)
    if math.isinf(value) or math.isnan(value) or value != math.floor(value):
        return False
    bits = 32 if name == "int" else 64
    return -(2 ** (bits - 1)) <= int(value) < 2 ** (bits - 1)


def bson_type(dialect):
    def check(validator, wanted, value, schema):
        for name in wanted if isinstance(wanted, list) else [wanted]:
            if name == kind(value) or dialect == "collection" and (name == "mixed" or holds(name, value)):
                return
            if name == "number" and is_number(value):
                return
        yield ValidationError("bsonType")

    return check


def equal(a, b):
    if is_number(a) and is_number(b):
        return a == b or a != a and b != b
    if kind(a) != kind(b):
        return False
    if isinstance(a, list):
        return len(a) == len(b) and all(equal(x, y) for x, y in zip(a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(equal(a[key], b[key]) for key in a)
    return a == b


def enum(validator, allowed, value, schema):
    if not any(equal(one, value) for one in allowed):
        yield ValidationError("enum")


def unique(validator, wanted, value, schema):
    if wanted and isinstance(value, list):
        if any(equal(a, b) for index, a in enumerate(value) for b in value[:index]):
            yield ValidationError("uniqueItems")


def multiple(validator, divisor, value, schema):
    if is_number(value):
        if math.isinf(value) or math.isnan(value):
            yield ValidationError("multipleOf")
            return
        number = decimal.Decimal("%.15g" % value) if kind(value) == "double" else decimal.Decimal(int(value))
        if number % decimal.Decimal("%.15g" % divisor) != 0:
            yield ValidationError("multipleOf")


def bound(is_least):
    def check(validator, limit, value, schema):
        if not is_number(value):
            return
        exclusive = schema.get("exclusiveMinimum" if is_least else "exclusiveMaximum", False)
        good = value > limit if is_least else value < limit
        if not (good or not exclusive and value == limit):
            yield ValidationError("bound")

    return check


def skipping_nulls(validator, value, schema):
    required = schema.get("required", [])
    return {key: one for key, one in value.items() if one is not None or key in required}


def collection_rule(name):
    """A null where nothing is required is as good as nothing, and a document's `_id` need not be declared."""
    original = Draft4Validator.VALIDATORS[name]

    def check(validator, rule, value, schema):
        if not isinstance(value, dict):
            return
        if name == "additionalProperties":
            value = {key: one for key, one in value.items() if not (rule is False and key == "_id" and is_top(value))}
        else:
            value = skipping_nulls(validator, value, schema)
        yield from original(validator, rule, value, schema)

    return check


TOP = []


def is_top(value):
    return any(value is one for one in TOP)


KEYWORDS = {
    "enum": enum, "uniqueItems": unique, "multipleOf": multiple, "minimum": bound(True), "maximum": bound(False),
}
TYPES = Draft4Validator.TYPE_CHECKER.redefine("object", lambda _, value: isinstance(value, dict))
QUERY = validators.extend(Draft4Validator, KEYWORDS | {"bsonType": bson_type("query")}, type_checker=TYPES)
COLLECTION = validators.extend(
    Draft4Validator,
    KEYWORDS | {"bsonType": bson_type("collection")}
    | {name: collection_rule(name) for name in ("properties", "patternProperties", "additionalProperties")},
    type_checker=TYPES)

NAMES = ["a", "b", "ab", "c.d", "é", "_id"]
TEXTS = ["", "a", "ab", "b", "ba", "aab", "é", "日本", "a b", "A", "x1", "a\nb", "\n", "10"]
PATTERNS = ["^a", "b$", "^[a-z]+$", "^.$", "a+b", r"\d", r"^\w+$", r"\bb", "(?:a|b){2}", "^(?!a)", r"\s", "[^a]", "é|日"]


def number():
    return SOURCE.choice([
        Int(SOURCE.randint(-3, 12)), Int(SOURCE.randint(-3, 12)), Long(SOURCE.randint(-3, 12)),
        Double(SOURCE.randint(-3, 12)), Double(SOURCE.choice([0.5, 0.3, 0.7, 1.5, 2.25])), Long(2**53 + 1), Long(2**60),
        Long(-(2**63)), Double(1e300), Double("inf"), Double("-inf"), Double("nan"), Double(-0.0),
    ])


def value(depth=0):
    choice = SOURCE.random()
    if choice < 0.35:
        return number()
    if choice < 0.55:
        return SOURCE.choice(TEXTS)
    if choice < 0.65:
        return SOURCE.choice([None, True, False, Typed("date", 5), Typed("objectId", "64f0000000000000000000aa")])
    if depth > 2:
        return Int(1)
    if choice < 0.8:
        return [value(depth + 1) for _ in range(SOURCE.randint(0, 3))]
    return {name: value(depth + 1) for name in SOURCE.sample(NAMES, SOURCE.randint(0, 3))}


def schema(depth=0):
    made = {}
    leaf = depth > 2
    for _ in range(SOURCE.choice([1, 1, 2, 3])):
        name = SOURCE.choice([
            "bsonType", "bsonType", "enum", "minimum", "maximum", "multipleOf", "minLength", "maxLength", "pattern",
            "pattern", "uniqueItems", "minItems", "maxItems", "minProperties", "maxProperties", "required",
        ] + ([] if leaf else [
            "properties", "properties", "properties", "patternProperties", "additionalProperties", "dependencies",
            "items", "tuple", "allOf", "anyOf", "oneOf", "not",
        ]))
        if name == "bsonType":
            types = ["int", "long", "double", "number", "string", "object", "array", "bool", "null", "date", "objectId"]
            made[name] = SOURCE.choice([SOURCE.choice(types), SOURCE.sample(types, 2)])
        elif name == "enum":
            made[name] = [value(2) for _ in range(SOURCE.randint(1, 3))]
        elif name in ("minimum", "maximum"):
            made[name] = SOURCE.choice([Int(SOURCE.randint(0, 9)), Double(0.5), Long(2**53)])
            if SOURCE.random() < 0.3:
                made["exclusive" + name.capitalize()] = True
        elif name == "multipleOf":
            made[name] = SOURCE.choice([Int(2), Int(3), Double(0.1), Double(0.5)])
        elif name in ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"):
            made[name] = Int(SOURCE.randint(0, 2))
        elif name == "pattern":
            made[name] = SOURCE.choice(PATTERNS)
        elif name == "uniqueItems":
            made[name] = True
        elif name == "required":
            made[name] = SOURCE.sample(NAMES, SOURCE.randint(1, 2))
        elif name == "properties":
            made[name] = {one: schema(depth + 1) for one in SOURCE.sample(NAMES, SOURCE.randint(1, 3))}
        elif name == "patternProperties":
            made[name] = {SOURCE.choice(PATTERNS): schema(depth + 1)}
        elif name == "additionalProperties":
            made[name] = SOURCE.choice([False, False, True, schema(depth + 1)])
        elif name == "dependencies":
            made[name] = {SOURCE.choice(NAMES): SOURCE.choice([SOURCE.sample(NAMES, 1), schema(depth + 1)])}
        elif name == "items":
            made[name] = schema(depth + 1)
        elif name == "tuple":
            made["items"] = [schema(depth + 1) for _ in range(SOURCE.randint(1, 2))]
            made["additionalItems"] = SOURCE.choice([False, True, schema(depth + 1)])
        elif name == "not":
            made[name] = schema(depth + 1)
        else:
            made[name] = [schema(depth + 1) for _ in range(SOURCE.randint(1, 2))]
    return made


def document():
    return {"_id": Int(1)} | {name: value() for name in SOURCE.sample(NAMES[:5], SOURCE.randint(0, 4))}


def main():
    # ECMA's classes are ASCII's, Python's aren't.
    original = re.search
    jsonschema._keywords.re.search = lambda pattern, text: original(pattern, text, re.ASCII)
    lines = []
    while len(lines) < 600:
        # Below a field, most of the time: a document is of one type only.
        made = schema(1) if SOURCE.random() < 0.4 else {"properties": {name: schema() for name in SOURCE.sample(NAMES[:5], 2)}}
        cases = []
        for _ in range(5):
            given = document()
            if list(made) == ["properties"]:
                given |= {name: value() for name in made["properties"]}
            TOP[:] = [given]
            cases.append([extended(given), QUERY(made).is_valid(given), COLLECTION(made).is_valid(given)])
        lines.append(json.dumps({"schema": extended(made), "cases": cases}, ensure_ascii=False, separators=(",", ":")))
    (pathlib.Path(__file__).parent.parent / "schemas.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")
    accepted = sum(case[2] for line in lines for case in json.loads(line)["cases"])
    print(f"{len(lines)} schemas, {5 * len(lines)} documents, {accepted} accepted by collections")


if __name__ == "__main__":
    main()
