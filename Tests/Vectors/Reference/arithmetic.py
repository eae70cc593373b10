"""Arithmetic of expressions and updates: the wider type wins, integers grow from 32 to 64 bits and then to doubles.

Written from https://www.mongodb.com/docs/manual/reference/operator/aggregation-arithmetic/ and .../operator/update/inc|mul|bit/.
"""

import decimal
import math

from matching import Failure
from values import *

NULL_FIRST = "null"


def to_decimal(value):
    """A double gets 15 digits, as MongoDB converts it."""
    if isinstance(value, Dec):
        return value.value
    if isinstance(value, float):
        if math.isnan(value) or math.isinf(value) or value == 0:
            return decimal.Decimal(value)
        return decimal.Context(prec=15, rounding=decimal.ROUND_HALF_EVEN).create_decimal(decimal.Decimal(value))
    return decimal.Decimal(int(value))


def integer(number, kinds):
    """An integer result of the narrowest type that the operands' types allow; a double beyond 64 bits."""
    if not -(1 << 63) <= number < 1 << 63:
        return float(number)
    if I64 in kinds:
        return I64(number)
    return I32(number) if -(1 << 31) <= number < 1 << 31 else I64(number)


def combine(a, b, operation):
    if isinstance(a, Dec) or isinstance(b, Dec):
        x, y = to_decimal(a), to_decimal(b)
        function = {"add": DECIMAL.add, "subtract": DECIMAL.subtract, "multiply": DECIMAL.multiply}[operation]
        return Dec(function(x, y))
    if isinstance(a, float) or isinstance(b, float):
        x, y = float(a), float(b)
        try:
            return {"add": lambda: x + y, "subtract": lambda: x - y, "multiply": lambda: x * y}[operation]()
        except OverflowError:
            return math.inf
    x, y = int(a), int(b)
    result = {"add": x + y, "subtract": x - y, "multiply": x * y}[operation]
    return integer(result, (type(a), type(b)))


def date_plus(date, number, sign):
    if isinstance(number, float):
        if not math.isfinite(number):
            raise Failure(15)
        offset = math.floor(abs(number) + 0.5) * (1 if number >= 0 else -1)
    elif isinstance(number, Dec):
        if not number.value.is_finite():
            raise Failure(15)
        offset = int(number.value.to_integral_value(decimal.ROUND_HALF_UP))
    else:
        offset = int(number)
    total = int(date) + sign * offset
    if not -(1 << 63) <= total < 1 << 63:
        raise Failure(15)
    return Date(total)


def add(a, b):
    if is_nullish(a) or is_nullish(b):
        # A wrong type before the null is noticed, one behind it isn't.
        if not is_nullish(a) and not is_number(a) and not isinstance(a, Date):
            raise Failure(14)
        return None
    for value in (a, b):
        if not is_number(value) and not isinstance(value, Date):
            raise Failure(14)
    if isinstance(a, Date) and isinstance(b, Date):
        raise Failure(16612)
    if isinstance(a, Date):
        return date_plus(a, b, 1)
    if isinstance(b, Date):
        return date_plus(b, a, 1)
    return combine(a, b, "add")


def subtract(a, b):
    if is_nullish(a) or is_nullish(b):
        return None
    if isinstance(a, Date):
        if isinstance(b, Date):
            return I64(int(a) - int(b))
        if is_number(b):
            return date_plus(a, b, -1)
        raise Failure(14)
    if not is_number(a) or not is_number(b):
        raise Failure(14)
    return combine(a, b, "subtract")


def multiply(a, b):
    if is_nullish(a) or is_nullish(b):
        if not is_nullish(a) and not is_number(a):
            raise Failure(14)
        return None
    if not is_number(a) or not is_number(b):
        raise Failure(14)
    return combine(a, b, "multiply")


def divide(a, b):
    if is_number(a) and is_number(b):
        if isinstance(a, Dec) or isinstance(b, Dec):
            y = to_decimal(b)
            if y == 0:
                raise Failure(2)
            return Dec(DECIMAL.divide(to_decimal(a), y))
        x, y = float(a), float(b)
        if y == 0:
            raise Failure(2)
        try:
            return x / y
        except OverflowError:
            return math.copysign(math.inf, x) * math.copysign(1, y)
    if is_nullish(a) or is_nullish(b):
        return None
    raise Failure(14)


def modulo(a, b):
    if is_number(a) and is_number(b):
        zero = exact(b).is_nan() is False and exact(b) == 0
        if zero:
            raise Failure(16610)
        if isinstance(a, Dec) or isinstance(b, Dec):
            # The quotient may have any number of digits, the rest is exact.
            wide = decimal.Context(prec=13000, Emax=999999, Emin=-999999, traps=[])
            return Dec(wide.remainder(to_decimal(a), to_decimal(b)))
        if isinstance(a, float) or isinstance(b, float):
            x, y = float(a), float(b)
            return math.nan if math.isinf(x) or math.isnan(x) or math.isnan(y) else math.fmod(x, y)
        x, y = int(a), int(b)
        rest = abs(x) % abs(y) * (1 if x >= 0 else -1)
        return I64(rest) if isinstance(a, I64) or isinstance(b, I64) else I32(rest)
    if is_nullish(a) or is_nullish(b):
        return None
    raise Failure(14)


def increase(a, b, operation):
    """$inc and $mul of a field: as the expressions, but an integer that outgrows 64 bits is refused."""
    if a is MISSING:
        if operation == "add":
            return b
        return combine(b, I32(0), "multiply") if not isinstance(b, I32) else I32(0)
    if not is_number(a):
        raise Failure(14)
    result = combine(a, b, operation)
    if isinstance(result, float) and not isinstance(a, float) and not isinstance(b, float):
        raise Failure(2)
    return result


def bit(a, operation, b):
    if a is MISSING:
        a = I32(0) if isinstance(b, I32) else I64(0)
    if not isinstance(a, (I32, I64)):
        raise Failure(2)
    result = {"and": int(a) & int(b), "or": int(a) | int(b), "xor": int(a) ^ int(b)}[operation]
    return I64(result) if isinstance(a, I64) or isinstance(b, I64) else I32(result)


def rounded(value, place, truncates):
    if is_nullish(value):
        return None
    if not is_number(value):
        raise Failure(51081)
    mode = decimal.ROUND_DOWN if truncates else decimal.ROUND_HALF_EVEN
    quantum = decimal.Decimal(1).scaleb(-place)
    if isinstance(value, (I32, I64)):
        if place >= 0:
            return value
        number = int(decimal.Decimal(int(value)).quantize(quantum, rounding=mode, context=decimal.Context(prec=60)))
        if isinstance(value, I64):
            if not -(1 << 63) <= number < 1 << 63:
                raise Failure(51080)
            return I64(number)
        return integer(number, (type(value),))
    if isinstance(value, float):
        if not math.isfinite(value):
            return value
        number = decimal.Decimal(repr(value))
        if number.as_tuple().exponent >= -place:
            return value
        return math.copysign(float(number.quantize(quantum, rounding=mode, context=decimal.Context(prec=400))), value)
    number = value.value
    if not number.is_finite():
        return value
    if number.as_tuple().exponent >= -place:
        return value
    return Dec(number.quantize(quantum, rounding=mode, context=DECIMAL))
