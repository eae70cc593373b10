"""Conversions: https://www.mongodb.com/docs/manual/reference/operator/aggregation/convert/ and the $to… operators beside it."""

import math

from arithmetic import to_decimal
from matching import Failure
from strings_reference import call, title
from values import *

INPUTS = [
    MISSING, None, True, False, I32(0), I32(5), I32(-7), I32(2147483647), I64(5), I64(-1), I64(9223372036854775807), 0.0, -0.0, 1.5, -2.9, 5.0, 1e300,
    2147483648.0, float("nan"), float("inf"), Dec("5"), Dec("1.5"), Dec("-0.9"), Dec("1E+400"), Dec("NaN"), "", "5", "-7", "+8", "1.5", "5.0", "1e3", " 5", "5 ", "0x1A",
    "abc", "9223372036854775808", "2147483648", "NaN", "Infinity", "2018-03-03", "2018-03-03T12:00:00Z", "5ab9cbe531c2ab715d42129a", "true", Date(0), Date(1520078400123),
    Date(-1), oid(0x5ab9cbe5 << 64), timestamp(1520078400, 1), binary(b"abc"), {"x": I32(1)}, [I32(1)], MIN, MAX, regex("a"),
]


def fail():
    raise Failure(241)


def number_of(text, kind):
    if kind in ("int", "long"):
        digits = text[1:] if text[:1] in "+-" else text
        if not digits.isascii() or not digits.isdigit():
            fail()
        number = int(text)
        limit = 31 if kind == "int" else 63
        if not -(1 << limit) <= number < 1 << limit:
            fail()
        return I32(number) if kind == "int" else I64(number)
    if kind == "double":
        if text in ("NaN", "Infinity", "-Infinity"):
            return float(text)
        if not text or not all(letter in "0123456789+-.eE" for letter in text):
            fail()
        try:
            return float(text)
        except ValueError:
            fail()
    if text in ("NaN", "Infinity", "-Infinity"):
        return Dec(text)
    if not text or not all(letter in "0123456789+-.eE" for letter in text):
        fail()
    number = Dec(text)
    return fail() if number.value.is_nan() else number


def cut(value, kind):
    number = exact(value)
    if not number.is_finite():
        fail()
    limit = 31 if kind == "int" else 63
    whole = int(number)
    if not -(1 << limit) <= whole < 1 << limit:
        fail()
    return I32(whole) if kind == "int" else I64(whole)


def to_text(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (I32, I64)):
        return str(int(value))
    if isinstance(value, float):
        if math.isnan(value) or math.isinf(value):
            return text_of_double(value)
        if value == int(value) and abs(value) < 1e15:
            return "-0" if value == 0 and math.copysign(1, value) < 0 else str(int(value))
        return repr(value)
    if isinstance(value, Dec):
        return text_of_decimal(value)
    if isinstance(value, Date):
        import datetime
        at = datetime.datetime(1970, 1, 1) + datetime.timedelta(milliseconds=int(value))
        return at.strftime("%Y-%m-%dT%H:%M:%S.") + "%03dZ" % (at.microsecond // 1000)
    if type_name(value) == "objectId":
        return value.parts[0]
    fail()


def convert(value, kind):
    if is_nullish(value):
        return None
    name = type_name(value)
    if kind == "bool":
        return truthy(value)
    if kind == "string":
        return value if name == "string" else to_text(value)
    if kind in ("int", "long"):
        if name == "bool":
            return I32(value) if kind == "int" else I64(value)
        if name == "date" and kind == "long":
            return I64(value)
        if name == "string":
            return number_of(value, kind)
        return cut(value, kind) if is_number(value) else fail()
    if kind == "double":
        if name in ("bool", "date", "int", "long", "double"):
            return float(value)
        if name == "decimal":
            result = float(value.value)
            if math.isinf(result) and value.value.is_finite():
                fail()
            return result
        return number_of(value, kind) if name == "string" else fail()
    if kind == "decimal":
        if name in ("bool", "date"):
            return Dec(str(int(value)))
        if is_number(value):
            return Dec(to_decimal(value))
        return number_of(value, kind) if name == "string" else fail()
    if kind == "date":
        if name == "date":
            return value
        if name == "objectId":
            return Date(int(value.parts[0][:8], 16) * 1000)
        if name == "timestamp":
            return Date(value.parts[0] * 1000)
        if name in ("long", "double", "decimal"):
            return Date(cut(value, "long"))
        if name == "string":
            try:
                return moment(value if "T" in value else value + "T00:00:00Z")
            except ValueError:
                fail()
        fail()
    if kind == "objectId":
        if name == "objectId":
            return value
        if name == "string" and len(value) == 24 and all(letter in "0123456789abcdefABCDEF" for letter in value):
            return Tagged("objectId", value)
        fail()


def tables():
    names = {"double": "$toDouble", "string": "$toString", "objectId": "$toObjectId", "bool": "$toBool", "date": "$toDate", "int": "$toInt", "long": "$toLong",
             "decimal": "$toDecimal"}
    for kind, operator in names.items():
        cases = []
        for value in INPUTS:
            # The text of a double with an exponent isn't documented; `-0.0` becomes the decimal -0.
            if value == 1e300 and kind in ("string", "decimal"):
                continue
            given = {"a": value} if value is not MISSING else {}
            expected = call(convert, value, kind)
            cases.append((title(value), {operator: "$a"}, given, expected))
            if isinstance(expected, dict) and "error" in expected:
                cases.append((title(value) + " onError", {"$convert": {"input": "$a", "to": kind, "onError": "failed"}}, given, "failed"))
            elif is_nullish(value):
                cases.append((title(value) + " onNull", {"$convert": {"input": "$a", "to": kind, "onNull": "nothing"}}, given, "nothing"))
            else:
                cases.append((title(value) + " by code", {"$convert": {"input": "$a", "to": I32(CODES[kind])}}, given, expected))
        yield "type/" + operator[1:], cases
    cases = []
    for value in INPUTS + [UNDEFINED, symbol("a"), code("f()"), timestamp(1, 1)]:
        given = {"a": value} if value is not MISSING else {}
        cases.append((title(value) if not isinstance(value, Tagged) else value.kind, {"$type": "$a"}, given, type_name(value)))
        cases.append((title(value) if not isinstance(value, Tagged) else value.kind, {"$isNumber": "$a"}, given, is_number(value)))
    yield "type/type", cases
