"""Answers cases by mongomock: one case per line of the file that is named, one answer per line of standard output, Extended JSON both."""

import sys

import mongomock
from bson import json_util

OPTIONS = json_util.JSONOptions(json_mode=json_util.JSONMode.CANONICAL, tz_aware=False)


def answer(case):
    collection = mongomock.MongoClient().db.collection
    if case["documents"]:
        collection.insert_many(case["documents"])
    if "update" in case:
        collection.update_one(case.get("filter", {}), case["update"])
        return list(collection.find())
    if "pipeline" in case:
        return list(collection.aggregate(case["pipeline"]))
    cursor = collection.find(case.get("filter", {}), case.get("projection"))
    if "sort" in case:
        cursor = cursor.sort(list(case["sort"].items()))
    return list(cursor)


for line in open(sys.argv[1], encoding="utf-8"):
    try:
        result = {"results": answer(json_util.loads(line, json_options=OPTIONS))}
    except Exception as error:  # any exception is this case's answer
        result = {"error": type(error).__name__ + ": " + str(error)[:200]}
    print(json_util.dumps(result, json_options=OPTIONS))
