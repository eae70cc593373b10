"""BSON values as the reference sees them, their Extended JSON, and MongoDB's order of them.

Written from https://www.mongodb.com/docs/manual/reference/bson-types/ and .../bson-type-comparison-order/, not from the engine.
"""

import datetime
import decimal
import json
import math

# IEEE 754-2008 decimal128: what Decimal128 is.
DECIMAL = decimal.Context(prec=34, Emax=6144, Emin=-6143, rounding=decimal.ROUND_HALF_EVEN, clamp=1, traps=[])


class Missing:
    def __repr__(self):
        return "missing"


MISSING = Missing()


class I32(int):
    pass


class I64(int):
    pass


class Date(int):
    """Milliseconds since 1970."""


class Dec:
    def __init__(self, text):
        self.value = text if isinstance(text, decimal.Decimal) else DECIMAL.create_decimal(text)


class Tagged:
    """A value that only its tag and contents tell apart."""

    def __init__(self, kind, *parts):
        self.kind, self.parts = kind, parts


def oid(number):
    return Tagged("objectId", "%024x" % number)


def binary(data, subtype=0):
    return Tagged("binData", bytes(data), subtype)


def timestamp(t, i):
    return Tagged("timestamp", t, i)


def regex(pattern, options=""):
    return Tagged("regex", pattern, options)


def code(text):
    return Tagged("javascript", text)


def symbol(text):
    return Tagged("symbol", text)


MIN, MAX, UNDEFINED = Tagged("minKey"), Tagged("maxKey"), Tagged("undefined")

CODES = {
    "double": 1, "string": 2, "object": 3, "array": 4, "binData": 5, "undefined": 6, "objectId": 7, "bool": 8, "date": 9,
    "null": 10, "regex": 11, "dbPointer": 12, "javascript": 13, "symbol": 14, "int": 16, "timestamp": 17, "long": 18,
    "decimal": 19, "minKey": -1, "maxKey": 127,
}


def type_name(value):
    if value is MISSING:
        return "missing"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "bool"
    for kind, name in ((I32, "int"), (I64, "long"), (Date, "date"), (float, "double"), (Dec, "decimal"), (str, "string"),
                       (dict, "object"), (list, "array")):
        if isinstance(value, kind):
            return name
    return value.kind


def is_number(value):
    return isinstance(value, (I32, I64, float, Dec)) and not isinstance(value, bool)


def is_nullish(value):
    return value is None or value is MISSING or value is UNDEFINED


def exact(value):
    """A number as a Decimal of unbounded precision, NaN and infinities included."""
    if isinstance(value, Dec):
        return value.value
    if isinstance(value, float):
        return decimal.Decimal(value)
    return decimal.Decimal(int(value))


def is_nan(value):
    return is_number(value) and exact(value).is_nan()


def text_of_double(value):
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(value)


def text_of_decimal(value):
    number = value.value
    if number.is_nan():
        return "NaN"
    if number.is_infinite():
        return "-Infinity" if number < 0 else "Infinity"
    # The specification of decimal128 prints as the General Decimal Arithmetic does, with a plain E.
    return str(number)


def ejson(value):
    """Canonical Extended JSON v2, as Python's own values."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, I32):
        return {"$numberInt": str(int(value))}
    if isinstance(value, I64):
        return {"$numberLong": str(int(value))}
    if isinstance(value, Date):
        return {"$date": {"$numberLong": str(int(value))}}
    if isinstance(value, float):
        return {"$numberDouble": text_of_double(value)}
    if isinstance(value, Dec):
        return {"$numberDecimal": text_of_decimal(value)}
    if isinstance(value, list):
        return [ejson(element) for element in value]
    if isinstance(value, dict):
        return {key: ejson(element) for key, element in value.items()}
    if isinstance(value, int):
        return value
    kind, parts = value.kind, value.parts
    if kind == "objectId":
        return {"$oid": parts[0]}
    if kind == "binData":
        import base64
        return {"$binary": {"base64": base64.b64encode(parts[0]).decode(), "subType": "%02x" % parts[1]}}
    if kind == "timestamp":
        return {"$timestamp": {"t": parts[0], "i": parts[1]}}
    if kind == "regex":
        return {"$regularExpression": {"pattern": parts[0], "options": parts[1]}}
    if kind == "javascript":
        return {"$code": parts[0]}
    if kind == "symbol":
        return {"$symbol": parts[0]}
    return {"$" + kind: True if kind == "undefined" else 1}


def dump(value):
    return json.dumps(ejson(value), ensure_ascii=False, separators=(",", ":"))


# MinKey, undefined, null, numbers, strings and symbols, objects, arrays, binary data, ObjectIds, booleans, dates, timestamps, regular
# expressions, code, MaxKey. (The manual lists undefined with null; the server sorts it before.)
RANKS = {
    "minKey": -1, "missing": 0, "undefined": 0, "null": 5, "int": 10, "long": 10, "double": 10, "decimal": 10, "string": 15,
    "symbol": 15, "object": 20, "array": 25, "binData": 30, "objectId": 35, "bool": 40, "date": 45, "timestamp": 47,
    "regex": 50, "javascript": 60, "maxKey": 127,
}


def rank(value):
    return RANKS[type_name(value)]


def sign(a, b):
    return (a > b) - (a < b)


def compare(a, b):
    if rank(a) != rank(b):
        return sign(rank(a), rank(b))
    kind = type_name(a)
    if is_number(a):
        x, y = exact(a), exact(b)
        if x.is_nan() or y.is_nan():
            return sign(not x.is_nan(), not y.is_nan())
        return sign(x, y)
    if kind in ("string", "symbol"):
        x, y = (v if isinstance(v, str) else v.parts[0] for v in (a, b))
        return sign(x.encode(), y.encode())
    if kind == "object":
        for (k, v), (l, w) in zip(a.items(), b.items()):
            if rank(v) != rank(w):
                return sign(rank(v), rank(w))
            if k != l:
                return sign(k.encode(), l.encode())
            order = compare(v, w)
            if order:
                return order
        return sign(len(a), len(b))
    if kind == "array":
        for v, w in zip(a, b):
            order = compare(v, w)
            if order:
                return order
        return sign(len(a), len(b))
    if kind == "binData":
        # Length, then subtype, then bytes.
        return sign((len(a.parts[0]), a.parts[1], a.parts[0]), (len(b.parts[0]), b.parts[1], b.parts[0]))
    if kind == "bool" or kind == "date":
        return sign(int(a), int(b))
    if isinstance(a, Tagged) and isinstance(b, Tagged) and a.parts:
        return sign(a.parts, b.parts)
    return 0


def equal(a, b):
    return compare(a, b) == 0


def truthy(value):
    """What $and, $cond and $match with $expr hold for true."""
    if is_nullish(value) or value is False:
        return False
    if is_number(value):
        number = exact(value)
        return number.is_nan() or number != 0
    return True


def moment(text):
    """Milliseconds of an ISO text with Z."""
    parsed = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    return Date((parsed - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)) // datetime.timedelta(milliseconds=1))
