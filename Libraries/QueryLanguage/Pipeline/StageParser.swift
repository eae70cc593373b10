import DocumentModel

/// Parses stages.
struct StageParser {
    let variables: Set<ExactText>
    let depth: Int

    /// Parses one stage document, which may stand for two stages.
    func parse(_ document: Document) throws(QueryError) -> [Stage] {
        guard document.count == 1, let field = document.fields.first else {
            throw QueryError(
                code: 40323, message: "A pipeline stage specification object must contain exactly one field.")
        }
        let value = field.value
        switch field.key {
        case "$match": return [.match(try Filter(try object("$match", value, 15959), variables: variables))]
        case "$project":
            return [.project(try Projection(try object("$project", value, 15969), isStage: true, variables: variables))]
        case "$addFields", "$set":
            return [.project(try Projection(adding: try object(field.key, value, 40272), variables: variables))]
        case "$unset": return [.project(try Projection(removing: try unsetPaths(value)))]
        case "$group": return [.group(try group(value))]
        case "$sort":
            let order = try object("$sort", value, 15973)
            guard !order.isEmpty else {
                throw QueryError(code: 15976, message: "$sort stage must have at least one sort key")
            }
            return [.sort(try Sort(order))]
        case "$skip": return [.skip(try count("$skip", value, 5_107_200))]
        case "$limit":
            let count = try count("$limit", value, 5_107_201)
            guard count > 0 else { throw QueryError(code: 15958, message: "the limit must be positive") }
            return [.limit(count)]
        case "$count": return [.count(try countField(value))]
        case "$sortByCount": return try sortByCount(value)
        case "$unwind": return [.unwind(try unwind(value))]
        case "$replaceRoot":
            let root = try object("$replaceRoot", value, 40229)
            guard root.count == 1, let newRoot = root["newRoot"] else {
                throw QueryError(code: 40231, message: "no newRoot specified for the $replaceRoot stage")
            }
            return [.replaceRoot(try expression(newRoot))]
        case "$replaceWith": return [.replaceRoot(try expression(value))]
        case "$sample": return [.sample(try sampleSize(value))]
        case "$fill": return try fill(value)
        case "$redact": return [.redact(try expression(value))]
        case "$documents": return [.documents(try expression(value))]
        case "$search", "$searchBeta", "$searchMeta": return [.search(name: field.key, try object(field.key, value, 9))]
        case "$out", "$merge": return [.output(name: field.key, try output(field.key, value))]
        default: return [try parseJoin(field.key, value)]
        }
    }

    func expression(_ value: Value) throws(QueryError) -> Expression { try Expression(value, variables: variables) }

    func object(_ name: String, _ value: Value, _ code: Int) throws(QueryError) -> Document {
        guard case .document(let document) = value else {
            throw QueryError(code: code, message: "the \(name) specification must be an object")
        }
        return document
    }

    private func count(_ name: String, _ value: Value, _ code: Int) throws(QueryError) -> Int {
        guard value.isNumber, let count = value.intValue, count >= 0 else {
            throw QueryError(
                code: code, message: "invalid argument to \(name) stage: Expected a non-negative integer: \(value)")
        }
        return count
    }

    private func sampleSize(_ value: Value) throws(QueryError) -> Int {
        let sample = try object("$sample", value, 28745)
        for field in sample.fields where field.key != "size" {
            throw QueryError(code: 28748, message: "unrecognized option to $sample: \(field.key)")
        }
        guard let size = sample["size"] else {
            throw QueryError(code: 28749, message: "$sample stage must specify a size")
        }
        guard size.isNumber, let count = size.intValue else {
            throw QueryError(code: 28746, message: "size argument to $sample must be a number")
        }
        guard count > 0 else { throw QueryError(code: 28747, message: "size argument to $sample must be positive") }
        return count
    }

    private func countField(_ value: Value) throws(QueryError) -> String {
        guard case .string(let name) = value else {
            throw QueryError(code: 40156, message: "the count field must be a non-empty string")
        }
        guard !name.isEmpty else {
            throw QueryError(code: 40157, message: "the count field must be a non-empty string")
        }
        guard !name.hasPrefix("$") else {
            throw QueryError(code: 40158, message: "the count field cannot be a $-prefixed path")
        }
        guard !name.contains(".") else { throw QueryError(code: 40160, message: "the count field cannot contain '.'") }
        return name
    }

    private func unsetPaths(_ value: Value) throws(QueryError) -> [String] {
        let elements: [Value]
        switch value {
        case .string: elements = [value]
        case .array(let list) where !list.isEmpty: elements = list
        case .array:
            throw QueryError(
                code: 31119,
                message: "$unset specification must be a string or an array with at least one field")
        default:
            throw QueryError(
                code: 31002, message: "$unset specification must be a string or an array with at least one field")
        }
        var paths: [String] = []
        for element in elements {
            guard case .string(let path) = element else {
                throw QueryError(
                    code: 31120,
                    message: "$unset specification must be a string or an array containing only string values")
            }
            paths.append(path)
        }
        return paths
    }

    private func sortByCount(_ value: Value) throws(QueryError) -> [Stage] {
        switch value {
        case .string(let path) where path.hasPrefix("$"): break
        case .document where FilterParser.isOperators(value): break
        case .document:
            throw QueryError(
                code: 40147, message: "the sortByCount field must be defined as a $-prefixed path or an expression")
        case .string:
            throw QueryError(
                code: 40148, message: "the sortByCount field must be defined as a $-prefixed path or an expression")
        default:
            throw QueryError(
                code: 40149, message: "the sortByCount field must be defined as a $-prefixed path or an expression")
        }
        let count = AccumulatorSpecification(
            name: "$sum", argument: Expression(node: .literal(1)))
        return [
            .group(GroupSpecification(id: try expression(value), fields: [("count", count)])),
            .sort(try Sort(["count": -1])),
        ]
    }

    private func unwind(_ value: Value) throws(QueryError) -> UnwindSpecification {
        var text: Value? = value
        var indexField: Path?
        var keepsEmpty = false
        if case .document(let document) = value {
            text = document["path"]
            for field in document.fields {
                switch field.key {
                case "path": break
                case "includeArrayIndex":
                    guard case .string(let name) = field.value, !name.isEmpty else {
                        throw QueryError(
                            code: 28810,
                            message: "expected a non-empty string for the includeArrayIndex option to $unwind stage")
                    }
                    guard !name.hasPrefix("$") else {
                        throw QueryError(
                            code: 28822,
                            message:
                                "includeArrayIndex option to $unwind stage should not be prefixed with a '$': \(name)")
                    }
                    indexField = try Path(field: name)
                case "preserveNullAndEmptyArrays":
                    guard case .bool(let flag) = field.value else {
                        throw QueryError(
                            code: 28809,
                            message: "expected a boolean for the preserveNullAndEmptyArrays option to $unwind stage")
                    }
                    keepsEmpty = flag
                default: throw QueryError(code: 28811, message: "unrecognized option to $unwind stage: \(field.key)")
                }
            }
        }
        guard text != nil else { throw QueryError(code: 28812, message: "no path specified to $unwind stage") }
        guard case .string(let path)? = text else {
            let isOption = if case .document = value { true } else { false }
            throw QueryError(
                code: isOption ? 28808 : 15981,
                message: "expected a string as the path for $unwind stage, got \(text.typeName)")
        }
        guard path.hasPrefix("$"), path.count > 1 else {
            throw QueryError(
                code: 28818, message: "path option to $unwind stage should be prefixed with a '$': \(path)")
        }
        return UnwindSpecification(
            path: try Path(field: path.dropFirst()), indexField: indexField, keepsEmpty: keepsEmpty)
    }

    private func output(_ name: String, _ value: Value) throws(QueryError) -> Value {
        switch value {
        case .string: return value
        case .document(let document):
            if name == "$out" {
                guard document["timeseries"] == nil else { throw .notSupported("$out.timeseries") }
                guard case .string? = document["coll"], case .string? = document["db"] else {
                    throw QueryError(
                        code: 16994,
                        message: "If an object is passed to $out it must have exactly 2 fields: 'db' and 'coll'")
                }
            } else {
                guard document["into"] != nil else {
                    throw .missingField("$merge.into")
                }
                for field in document.fields
                where !["into", "on", "let", "whenMatched", "whenNotMatched"].contains(field.key) {
                    throw .unknownField("$merge.\(field.key)")
                }
                try checkModes(document)
            }
            return value
        default:
            throw QueryError(
                code: name == "$out" ? 16990 : 51182, message: "\(name) only supports a string or object argument")
        }
    }

    private func checkModes(_ document: Document) throws(QueryError) {
        let modes = [
            "whenMatched": ["replace", "keepExisting", "merge", "fail"],
            "whenNotMatched": ["insert", "discard", "fail"],
        ]
        for (name, allowed) in modes {
            switch document[name] {
            case .array? where name == "whenMatched": continue
            case .string(let mode)? where allowed.contains(mode): continue
            case nil: continue
            default:
                throw .badValue("Enumeration value for field '$merge.\(name)' is not a valid value.")
            }
        }
    }
}
