"""Filters: which documents match, by the rules of https://www.mongodb.com/docs/manual/reference/operator/query/."""

import math
import re

from values import *


class Failure(Exception):
    """What MongoDB answers with an error code."""

    def __init__(self, code):
        self.code = code


def index_of(name):
    return int(name) if name.isdigit() and (name == "0" or name[0] != "0") else None


def reach(value, path):
    """What a path leads to, before a final array is opened: through arrays, an index or the elements that are documents."""
    if not path:
        yield value
        return
    if isinstance(value, dict):
        if path[0] in value:
            yield from through(value[path[0]], path[1:])
        else:
            yield MISSING
    else:
        yield MISSING


class Element:
    """An element that a path names by its index at its end: an array there stays closed."""

    def __init__(self, value):
        self.value = value


def through(value, rest):
    if not rest or not isinstance(value, list):
        yield from reach(value, rest)
        return
    place = index_of(rest[0])
    for number, element in enumerate(value):
        if isinstance(element, dict):
            yield from reach(element, rest)
        if number == place:
            if len(rest) == 1:
                yield Element(element)
            elif isinstance(element, dict):
                yield from reach(element, rest[1:])
            elif isinstance(element, list):
                yield from through(element, rest[1:])


def candidates(document, path):
    """What a condition sees: the values, and of a final array its elements and itself."""
    for value in reach(document, path.split(".")):
        if isinstance(value, Element):
            value = value.value
        elif isinstance(value, list):
            yield from value
        yield value


def reached(document, path):
    """What a path leads to, arrays closed."""
    for value in reach(document, path.split(".")):
        yield value.value if isinstance(value, Element) else value


def same(value, wanted):
    if is_nullish(value):
        return wanted is None or wanted is UNDEFINED and value is UNDEFINED
    return rank(value) == rank(wanted) and compare(value, wanted) == 0


def ordered(value, operator, wanted):
    if wanted is MIN or wanted is MAX:
        order = compare(None if value is MISSING else value, wanted)
    elif wanted is None:
        return is_nullish(value) and operator in ("$gte", "$lte")
    elif is_nullish(value) or rank(value) != rank(wanted):
        return False
    elif is_nan(value) != is_nan(wanted):
        return False
    else:
        order = compare(value, wanted)
    return {"$gt": order > 0, "$gte": order >= 0, "$lt": order < 0, "$lte": order <= 0}[operator]


def of_regex(value, pattern, options):
    if isinstance(value, Tagged) and value.kind == "regex":
        return value.parts == (pattern, options)
    text = value if isinstance(value, str) else value.parts[0] if type_name(value) == "symbol" else None
    if text is None:
        return False
    flags = sum({"i": re.I, "m": re.M, "s": re.S, "x": re.X}.get(option, 0) for option in options)
    return re.search(pattern, text, flags) is not None


def whole(value):
    """A number cut to 64 bits, or None."""
    if not is_number(value):
        return None
    number = exact(value)
    if number.is_nan() or number.is_infinite():
        return None
    cut = int(number)
    return cut if -(1 << 63) <= cut < 1 << 63 else None


def bits(value, operator, mask):
    positions = mask if isinstance(mask, list) else [place for place in range(64) if mask >> place & 1]
    if isinstance(value, Tagged) and value.kind == "binData":
        data = value.parts[0]
        is_set = lambda place: place // 8 < len(data) and bool(data[place // 8] >> place % 8 & 1)
    elif isinstance(value, Dec):
        # The server's matcher takes a decimal for its nearest integer, and what is none for the least.
        rounded = value.value.to_integral_value(decimal.ROUND_HALF_EVEN) if value.value.is_finite() else None
        number = int(rounded) if rounded is not None and -(1 << 63) <= rounded < 1 << 63 else -(1 << 63)
        is_set = lambda place: bool(number >> min(place, 63) & 1)
    elif is_number(value):
        number = whole(value)
        if number is None or exact(value) != number:
            return False
        is_set = lambda place: bool(number >> min(place, 63) & 1)
    else:
        return False
    found = [is_set(place) for place in positions]
    return {"$bitsAllSet": all(found), "$bitsAllClear": not any(found), "$bitsAnySet": any(found),
            "$bitsAnyClear": not all(found)}[operator]


def types(operand):
    wanted = set()
    for name in operand if isinstance(operand, list) else [operand]:
        if name == "number":
            wanted |= {"int", "long", "double", "decimal"}
        else:
            wanted.add(name if isinstance(name, str) else {code: name for name, code in CODES.items()}[int(name)])
    return wanted


def one(value, operator, operand):
    """A condition on one value."""
    if operator == "$eq":
        return same(value, operand)
    if operator in ("$gt", "$gte", "$lt", "$lte"):
        return ordered(value, operator, operand)
    if operator == "$in":
        return any(of_regex(value, *wanted.parts) if type_name(wanted) == "regex" else same(value, wanted)
                   for wanted in operand)
    if operator == "$regex":
        return of_regex(value, *operand)
    if operator == "$type":
        return type_name(value) in types(operand)
    if operator == "$mod":
        number = whole(value)
        divisor, rest = (whole(part) for part in operand)
        return number is not None and int(math.fmod(number, divisor) if abs(number) < 1 << 53 else
                                          (abs(number) % abs(divisor)) * (1 if number >= 0 else -1)) == rest
    if operator.startswith("$bits"):
        return bits(value, operator, operand)
    raise KeyError(operator)


def field(document, path, operator, operand):
    if operator == "$ne":
        return not field(document, path, "$eq", operand)
    if operator == "$nin":
        return not field(document, path, "$in", operand)
    if operator == "$not":
        return not condition(document, path, operand)
    if operator == "$exists":
        found = any(value is not MISSING for value in candidates(document, path))
        return found == truthy(operand)
    if operator == "$size":
        return any(isinstance(value, list) and len(value) == operand for value in reached(document, path))
    if operator == "$all":
        return bool(operand) and all(
            field(document, path, "$elemMatch", part["$elemMatch"]) if isinstance(part, dict) and "$elemMatch" in part
            else condition(document, path, part) for part in operand)
    if operator == "$elemMatch":
        for value in reached(document, path):
            for element in value if isinstance(value, list) else []:
                if is_operators(operand):
                    # The element itself is asked, so that a nested array isn't opened.
                    if all(direct(element, name, part) for name, part in operand.items()):
                        return True
                elif isinstance(element, (dict, list)):
                    inside = element if isinstance(element, dict) else {str(i): e for i, e in enumerate(element)}
                    if matches(inside, operand):
                        return True
        return False
    return any(one(value, operator, operand) for value in candidates(document, path))


def direct(value, operator, operand):
    if operator == "$ne":
        return not one(value, "$eq", operand)
    if operator == "$nin":
        return not one(value, "$in", operand)
    if operator == "$exists":
        return truthy(operand)
    if operator == "$size":
        return isinstance(value, list) and len(value) == operand
    if operator == "$not":
        return not all(direct(value, name, part) for name, part in operand.items())
    if operator == "$elemMatch":
        return field({"e": value}, "e", "$elemMatch", operand)
    return one(value, operator, operand)


def is_operators(value):
    """Conditions on a value itself, which filters within documents ($and and its like) are not."""
    return isinstance(value, dict) and bool(value) and next(iter(value)).startswith("$") and next(iter(value)) not in ("$and", "$or", "$nor")


def condition(document, path, wanted):
    if is_operators(wanted):
        return all(field(document, path, operator, operand) for operator, operand in wanted.items())
    if type_name(wanted) == "regex":
        return field(document, path, "$regex", wanted.parts)
    return field(document, path, "$eq", wanted)


def matches(document, query):
    for name, wanted in query.items():
        if name == "$and":
            met = all(matches(document, part) for part in wanted)
        elif name == "$or":
            met = any(matches(document, part) for part in wanted)
        elif name == "$nor":
            met = not any(matches(document, part) for part in wanted)
        elif name == "$comment":
            met = True
        else:
            met = condition(document, name, wanted)
        if not met:
            return False
    return True
