"""Operators of dates: https://www.mongodb.com/docs/manual/reference/operator/aggregation-date/; calendars and zones are Python's own."""

import datetime
import zoneinfo

from matching import Failure
from strings_reference import call
from values import *

UTC = datetime.timezone.utc
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=UTC)
MS = datetime.timedelta(milliseconds=1)

MOMENTS = [moment(text) for text in (
    "1970-01-01T00:00:00Z", "2000-02-29T23:59:59.999Z", "2016-01-01T00:00:00Z", "2020-12-31T23:30:00Z", "2021-01-03T12:00:00Z", "2021-03-14T09:59:59Z",
    "2021-03-28T01:00:00Z", "2024-02-29T12:34:56.789Z", "1969-12-31T23:59:59.999Z", "1900-03-01T00:00:00Z", "2021-10-31T01:30:00Z", "2018-12-30T06:00:00Z")]
ZONES = [None, "+05:30", "-0800", "America/New_York", "Europe/Berlin"]


def zone(name):
    if name is None:
        return UTC
    if name[0] in "+-":
        digits = name[1:].replace(":", "")
        offset = datetime.timedelta(hours=int(digits[:2]), minutes=int(digits[2:] or 0))
        return datetime.timezone(offset if name[0] == "+" else -offset)
    return zoneinfo.ZoneInfo(name)


def at(date, name=None):
    return (EPOCH + int(date) * MS).astimezone(zone(name))


def back(local):
    return Date((local.astimezone(UTC) - EPOCH) // MS)


def sunday_week(local):
    """Weeks begin on Sunday; the days before the year's first one are in week 0."""
    return (local.timetuple().tm_yday + 6 - (local.weekday() + 1) % 7) // 7


PARTS = {
    "$year": lambda d: I32(d.year), "$month": lambda d: I32(d.month), "$dayOfMonth": lambda d: I32(d.day), "$hour": lambda d: I32(d.hour),
    "$minute": lambda d: I32(d.minute), "$second": lambda d: I32(d.second), "$millisecond": lambda d: I32(d.microsecond // 1000),
    "$dayOfYear": lambda d: I32(d.timetuple().tm_yday), "$dayOfWeek": lambda d: I32((d.weekday() + 1) % 7 + 1), "$week": lambda d: I32(sunday_week(d)),
    "$isoDayOfWeek": lambda d: I32(d.isoweekday()), "$isoWeek": lambda d: I32(d.isocalendar()[1]), "$isoWeekYear": lambda d: I64(d.isocalendar()[0]),
}

MONTHS = {"month": 1, "quarter": 3, "year": 12}
LENGTHS = {"week": 604800000, "day": 86400000, "hour": 3600000, "minute": 60000, "second": 1000, "millisecond": 1}


def month_plus(local, months):
    total = local.year * 12 + local.month - 1 + months
    year, month = total // 12, total % 12 + 1
    last = (datetime.date(year + month // 12, month % 12 + 1, 1) - datetime.timedelta(days=1)).day
    return local.replace(year=year, month=month, day=min(local.day, last))


def plus(date, unit, amount, name=None):
    local = at(date, name)
    if unit in MONTHS:
        return back(month_plus(local, amount * MONTHS[unit]))
    if unit in ("day", "week"):
        # The wall clock stays.
        days = amount * (7 if unit == "week" else 1)
        return back((local.replace(tzinfo=None) + datetime.timedelta(days=days)).replace(tzinfo=zone(name)))
    return Date(int(date) + amount * LENGTHS[unit])


DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]


def floor_of(local, unit, first="sunday"):
    """The beginning of the unit that a wall clock is in, as a number that grows by one from unit to unit."""
    if unit in MONTHS:
        return (local.year * 12 + local.month - 1) // MONTHS[unit]
    day = local.date().toordinal()
    if unit == "week":
        # Ordinal 1 is a Monday.
        return (day - 1 - DAYS.index(first)) // 7
    if unit == "day":
        return day
    return (day * 86400000 + local.hour * 3600000 + local.minute * 60000 + local.second * 1000 + local.microsecond // 1000) // LENGTHS[unit]


def difference(start, end, unit, name=None, first="sunday"):
    return I64(floor_of(at(end, name), unit, first) - floor_of(at(start, name), unit, first))


def truncated(date, unit, size=1, name=None, first="sunday"):
    """Bins are counted from 2000-01-01 in the zone; of weeks from the first day of a week after it."""
    local = at(date, name)
    if unit in MONTHS:
        months = MONTHS[unit] * size
        since = (local.year - 2000) * 12 + local.month - 1
        begin = since // months * months
        return back(datetime.datetime(2000 + begin // 12, begin % 12 + 1, 1, tzinfo=zone(name)))
    reference = datetime.datetime(2000, 1, 1)
    if unit == "week":
        while reference.weekday() != DAYS.index(first):
            reference += datetime.timedelta(days=1)
    length = LENGTHS[unit] * size
    naive = local.replace(tzinfo=None)
    since = (naive - reference) // MS
    begin = since // length * length
    if unit in ("week", "day"):
        return back((reference + begin * MS).replace(tzinfo=zone(name)))
    return Date(int(date) - (since - begin))


def formatted(date, pattern, name=None):
    local = at(date, name)
    offset = local.utcoffset() // datetime.timedelta(minutes=1)
    values = {
        "Y": "%04d" % local.year, "m": "%02d" % local.month, "d": "%02d" % local.day, "H": "%02d" % local.hour, "M": "%02d" % local.minute,
        "S": "%02d" % local.second, "L": "%03d" % (local.microsecond // 1000), "j": "%03d" % local.timetuple().tm_yday, "u": str(local.isoweekday()),
        "w": str((local.weekday() + 1) % 7 + 1), "U": "%02d" % sunday_week(local), "V": "%02d" % local.isocalendar()[1], "G": "%04d" % local.isocalendar()[0],
        "z": "%s%02d%02d" % ("-" if offset < 0 else "+", abs(offset) // 60, abs(offset) % 60), "Z": str(offset), "%": "%", "b": local.strftime("%b"), "B": local.strftime("%B"),
    }
    result, rest = "", iter(pattern)
    for letter in rest:
        if letter == "%":
            specifier = next(rest, None)
            if specifier is None:
                raise Failure(18535)
            if specifier not in values:
                raise Failure(18536)
            letter = values[specifier]
        result += letter
    return result


def tables():
    for name, pick in PARTS.items():
        cases = []
        for date in MOMENTS:
            cases.append((at(date).isoformat(), {name: "$d"}, {"d": date}, pick(at(date))))
            for zoned in ZONES[1:4]:
                cases.append(("%s in %s" % (at(date).isoformat(), zoned), {name: {"date": "$d", "timezone": zoned}}, {"d": date}, pick(at(date, zoned))))
        cases += [("null", {name: None}, {}, None), ("missing", {name: "$d"}, {}, None), ("text", {name: "$d"}, {"d": "2020-01-01"}, {"error": 16006}),
                  ("number", {name: "$d"}, {"d": I64(0)}, {"error": 16006}), ("object id", {name: "$d"}, {"d": oid(1520078400 << 64)}, pick(at(1520078400000))),
                  ("timestamp", {name: "$d"}, {"d": timestamp(1520078400, 5)}, pick(at(1520078400000))), ("null zone", {name: {"date": "$d", "timezone": None}}, {"d": Date(0)}, None),
                  ("unknown zone", {name: {"date": "$d", "timezone": "Nowhere/Land"}}, {"d": Date(0)}, {"error": 40485}),
                  ("zone of a wrong type", {name: {"date": "$d", "timezone": I32(5)}}, {"d": Date(0)}, {"error": 40517})]
        yield "date/" + name[1:], cases
    for name, direction in (("$dateAdd", 1), ("$dateSubtract", -1)):
        cases = []
        for number, date in enumerate(MOMENTS):
            for unit in list(MONTHS) + list(LENGTHS):
                for amount in (1, -1, 13) if number % 3 == 0 else (3,):
                    zoned = ZONES[(number + amount) % len(ZONES)] if unit not in ("hour", "minute", "second", "millisecond") else None
                    operand = {"startDate": "$d", "unit": unit, "amount": I32(amount)}
                    if zoned:
                        operand["timezone"] = zoned
                    cases.append(("%s %s %d %s" % (at(date).isoformat(), unit, amount, zoned or "UTC"), {name: operand}, {"d": date}, plus(date, unit, direction * amount, zoned)))
        cases += [("null amount", {name: {"startDate": "$d", "unit": "day", "amount": None}}, {"d": Date(0)}, None),
                  ("missing date", {name: {"startDate": "$d", "unit": "day", "amount": I32(1)}}, {}, None), ("null unit", {name: {"startDate": "$d", "unit": None, "amount": I32(1)}}, {"d": Date(0)}, None)]
        yield "date/" + name[1:], cases
    cases = []
    for number, date in enumerate(MOMENTS):
        other = MOMENTS[(number + 5) % len(MOMENTS)]
        for unit in list(MONTHS) + list(LENGTHS):
            zoned = ZONES[number % 4] if unit in ("year", "quarter", "month", "week", "day") else None
            operand = {"startDate": "$a", "endDate": "$b", "unit": unit}
            if zoned:
                operand["timezone"] = zoned
            cases.append(("%s %s %s" % (at(date).isoformat(), unit, zoned or "UTC"), {"$dateDiff": operand}, {"a": date, "b": other}, difference(date, other, unit, zoned)))
        for first in ("monday", "saturday"):
            cases.append(("%s weeks from %s" % (at(date).isoformat(), first), {"$dateDiff": {"startDate": "$a", "endDate": "$b", "unit": "week", "startOfWeek": first}},
                          {"a": date, "b": other}, difference(date, other, "week", None, first)))
    yield "date/dateDiff", cases
    cases = []
    for number, date in enumerate(MOMENTS):
        for unit in list(MONTHS) + list(LENGTHS):
            for size in (1, 2, 7) if number % 2 else (1, 5):
                zoned = ZONES[(number + size) % 4] if unit in ("year", "quarter", "month", "day") else None
                operand = {"date": "$d", "unit": unit, "binSize": I32(size)}
                if zoned:
                    operand["timezone"] = zoned
                cases.append(("%s %d %s %s" % (at(date).isoformat(), size, unit, zoned or "UTC"), {"$dateTrunc": operand}, {"d": date}, truncated(date, unit, size, zoned)))
        cases.append(("%s week from monday" % at(date).isoformat(), {"$dateTrunc": {"date": "$d", "unit": "week", "startOfWeek": "monday"}}, {"d": date}, truncated(date, "week", 1, None, "monday")))
    yield "date/dateTrunc", cases
    cases = []
    for number, date in enumerate(MOMENTS):
        for pattern in ("%Y-%m-%d", "%H:%M:%S.%L", "%j %U %w", "%G-W%V-%u", "%z %Z", "%d %b %Y, %B", "100%%", "", "plain"):
            zoned = ZONES[number % len(ZONES)]
            operand = {"date": "$d", "format": pattern}
            if zoned:
                operand["timezone"] = zoned
            cases.append(("%s %s" % (pattern, zoned or "UTC"), {"$dateToString": operand}, {"d": date}, formatted(date, pattern, zoned)))
        cases.append(("default format", {"$dateToString": {"date": "$d"}}, {"d": date}, formatted(date, "%Y-%m-%dT%H:%M:%S.%LZ")))
    cases += [("unknown specifier", {"$dateToString": {"date": "$d", "format": "%q"}}, {"d": Date(0)}, {"error": 18536}), ("open percent", {"$dateToString": {"date": "$d", "format": "a%"}}, {"d": Date(0)}, {"error": 18535}),
              ("null", {"$dateToString": {"date": None}}, {}, None), ("onNull", {"$dateToString": {"date": None, "onNull": "none"}}, {}, "none"), ("null format", {"$dateToString": {"date": "$d", "format": None}}, {"d": Date(0)}, None),
              ("format of a wrong type", {"$dateToString": {"date": "$d", "format": I32(5)}}, {"d": Date(0)}, {"error": 18533}), ("text", {"$dateToString": {"date": "x"}}, {}, {"error": 16006})]
    yield "date/dateToString", cases
    cases = []
    for number, date in enumerate(MOMENTS):
        zoned = ZONES[number % len(ZONES)]
        local = at(date, zoned)
        parts = {"year": I32(local.year), "month": I32(local.month), "day": I32(local.day), "hour": I32(local.hour), "minute": I32(local.minute), "second": I32(local.second),
                 "millisecond": I32(local.microsecond // 1000)}
        week = {"isoWeekYear": I32(local.isocalendar()[0]), "isoWeek": I32(local.isocalendar()[1]), "isoDayOfWeek": I32(local.isoweekday()), **dict(list(parts.items())[3:])}
        extra = {"timezone": zoned} if zoned else {}
        # Of an hour that the clock shows twice the first one is meant.
        first = back(local.replace(fold=0))
        cases.append(("%s %s" % (local.isoformat(), zoned), {"$dateFromParts": {**parts, **extra}}, {}, first))
        cases.append(("%s %s by week" % (local.isoformat(), zoned), {"$dateFromParts": {**week, **extra}}, {}, first))
        cases.append(("%s %s to parts" % (local.isoformat(), zoned), {"$dateToParts": {"date": "$d", **extra}}, {"d": date}, parts))
        cases.append(("%s %s to weeks" % (local.isoformat(), zoned), {"$dateToParts": {"date": "$d", "iso8601": True, **extra}}, {"d": date}, week))
    base = {"year": I32(2017)}
    for name, parts, expected in (
        ("year alone", {}, "2017-01-01T00:00:00Z"), ("month 14", {"month": I32(14)}, "2018-02-01T00:00:00Z"), ("month 0", {"month": I32(0)}, "2016-12-01T00:00:00Z"),
        ("day 0", {"day": I32(0)}, "2016-12-31T00:00:00Z"), ("day 60", {"day": I32(60)}, "2017-03-01T00:00:00Z"), ("hour -1", {"hour": I32(-1)}, "2016-12-31T23:00:00Z"), ("second 3600", {"second": I32(3600)}, "2017-01-01T01:00:00Z"),
        ("minute 61", {"minute": I64(61)}, "2017-01-01T01:01:00Z"), ("millisecond 1500", {"millisecond": 1500.0}, "2017-01-01T00:00:01.500Z")):
        cases.append((name, {"$dateFromParts": {**base, **parts}}, {}, moment(expected)))
    cases += [("null part", {"$dateFromParts": {**base, "month": None}}, {}, None), ("missing part", {"$dateFromParts": {**base, "month": "$m"}}, {}, None), ("part of a wrong type", {"$dateFromParts": {**base, "month": "x"}}, {}, {"error": 40515}),
              ("broken part", {"$dateFromParts": {**base, "month": 1.5}}, {}, {"error": 40515}), ("no year", {"$dateFromParts": {"month": I32(1)}}, {}, {"error": 40516}), ("year 0", {"$dateFromParts": {"year": I32(0)}}, {}, {"error": 40523}),
              ("year 10000", {"$dateFromParts": {"year": I32(10000)}}, {}, {"error": 40523}), ("both calendars", {"$dateFromParts": {**base, "isoWeek": I32(1)}}, {}, {"error": 40489})]
    yield "date/dateParts", cases
    cases = []
    for text, pattern, zoned, expected in (
        ("2017-02-08T12:10:40.787Z", None, None, "2017-02-08T12:10:40.787Z"), ("2017-02-08T12:10:40.787", None, "America/New_York", "2017-02-08T17:10:40.787Z"), ("2017-02-08", None, None, "2017-02-08T00:00:00Z"),
        ("2017-02-08", None, "+01:00", "2017-02-07T23:00:00Z"), ("06-15-2018", "%m-%d-%Y", None, "2018-06-15T00:00:00Z"), ("15-06-2018", "%d-%m-%Y", None, "2018-06-15T00:00:00Z"), ("2018 at 07:05", "%Y at %H:%M", None, "2018-01-01T07:05:00Z"),
        ("2018-W24-5", "%G-W%V-%u", None, "2018-06-15T00:00:00Z"), ("2018-06-15 +0200", "%Y-%m-%d %z", None, "2018-06-14T22:00:00Z"), ("2018-06-15 -0330", "%Y-%m-%d %z", None, "2018-06-15T03:30:00Z"),
        ("2018-06-15T10:00:00.123", "%Y-%m-%dT%H:%M:%S.%L", "Europe/Berlin", "2018-06-15T08:00:00.123Z"), ("2018-06-15 120", "%Y-%m-%d %Z", None, "2018-06-14T22:00:00Z"), ("100% 2018", "100%% %Y", None, "2018-01-01T00:00:00Z"),
        ("2018-06-15x", "%Y-%m-%d", None, None), ("2018-06", "%Y-%m-%d", None, None), ("not a date", None, None, None), ("2018-13-01", None, None, None), ("2018-02-30", "%Y-%m-%d", None, None), ("2018-06-15", "%d/%m/%Y", None, None)):
        operand = {"dateString": text, **({"format": pattern} if pattern else {}), **({"timezone": zoned} if zoned else {})}
        cases.append(("%s by %s" % (text, pattern), {"$dateFromString": operand}, {}, moment(expected) if expected else {"error": 241}))
        if expected is None:
            cases.append(("%s by %s, onError" % (text, pattern), {"$dateFromString": {**operand, "onError": "bad"}}, {}, "bad"))
    cases += [("null", {"$dateFromString": {"dateString": None}}, {}, None), ("onNull", {"$dateFromString": {"dateString": "$d", "onNull": I32(0)}}, {}, I32(0)), ("number", {"$dateFromString": {"dateString": I32(5)}}, {}, {"error": 241}),
              ("format of a wrong type", {"$dateFromString": {"dateString": "2018", "format": I32(5)}}, {}, {"error": 40684}), ("unknown specifier", {"$dateFromString": {"dateString": "2018", "format": "%q"}}, {}, {"error": 18536})]
    yield "date/dateFromString", cases
