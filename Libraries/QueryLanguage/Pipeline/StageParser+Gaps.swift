import DocumentModel

/// Stages that fill gaps.
extension StageParser {
    func densify(_ value: Value) throws(QueryError) -> DensifySpecification {
        let document = try object("$densify", value, 5_733_413)
        for field in document.fields where !["field", "partitionByFields", "range"].contains(field.key) {
            throw .unknownField("$densify.\(field.key)")
        }
        guard case .string(let field)? = document["field"] else { throw .missingField("$densify.field") }
        guard case .document(let range)? = document["range"] else { throw .missingField("$densify.range") }
        for option in range.fields where !["bounds", "step", "unit"].contains(option.key) {
            throw .unknownField("$densify.range.\(option.key)")
        }
        guard let step = range["step"] else { throw .missingField("$densify.range.step") }
        guard let bounds = range["bounds"] else { throw .missingField("$densify.range.bounds") }
        guard step.isNumber, let size = step.doubleValue, size > 0 else {
            throw QueryError(
                code: 5_733_401,
                message: "the step parameter in a range statement must be a strictly positive numeric value")
        }
        let partition = try paths("$densify.partitionByFields", document["partitionByFields"])
        guard !partition.contains(where: { $0.description.hasSameBytes(as: field) }) else {
            throw QueryError(code: 5_733_201, message: "the field of $densify must not be one of its partitionByFields")
        }
        var unit: String?
        if let given = range["unit"] {
            unit = try DateUnit(given, "$densify").rawValue
            guard step.int64Value != nil else {
                throw QueryError(
                    code: 6_586_400,
                    message:
                        "The step parameter in a range statement must be a whole number when densifying a date range")
            }
        }
        return DensifySpecification(
            field: try Path(field: field), partition: partition, step: step, unit: unit,
            bounds: try self.bounds(bounds, unit))
    }

    private func bounds(_ value: Value, _ unit: String?) throws(QueryError) -> DensifySpecification.Bounds {
        switch value {
        case "full": return .full
        case "partition": return .partition
        case .array(let ends):
            guard ends.count == 2 else {
                throw QueryError(
                    code: 5_733_403, message: "a bounding array in a range statement must have exactly two elements")
            }
            guard Value.compare(ends[0], ends[1]) <= 0 else {
                throw QueryError(
                    code: 5_733_402,
                    message: "A bounding array must be an ascending array of either two dates or two numbers")
            }
            try check(ends, unit)
            return .explicit(ends[0], ends[1])
        default:
            throw QueryError(
                code: 5_946_802,
                message: "the bounds in a range statement must be the string 'full', 'partition', or an array")
        }
    }

    private func check(_ ends: [Value], _ unit: String?) throws(QueryError) {
        let mixed = "A bounding array must contain either both dates or both numeric types"
        switch (ends[0], ends[1]) {
        case (.date, .date):
            guard unit != nil else {
                throw QueryError(code: 5_733_501, message: "A bounding array of dates must specify a unit")
            }
        case (.date, _): throw QueryError(code: 5_733_405, message: mixed)
        case (let lower, let upper):
            guard lower.isNumber, upper.isNumber else { throw QueryError(code: 5_733_406, message: mixed) }
            guard unit == nil else {
                throw QueryError(code: 5_733_409, message: "Numeric bounds may not have unit parameter")
            }
        }
    }

    private func paths(_ name: String, _ value: Value?) throws(QueryError) -> [Path] {
        guard let value else { return [] }
        guard case .array(let elements) = value else { throw .typeMismatch("\(name) must be an array") }
        var paths: [Path] = []
        for element in elements {
            guard case .string(let path) = element, !path.isEmpty, !path.hasPrefix("$") else {
                throw .typeMismatch("\(name) must be an array of field names")
            }
            paths.append(Path(path))
        }
        return paths
    }

    /// Parses `$fill`, which is translated into `$setWindowFields` and `$addFields`.
    func fill(_ value: Value) throws(QueryError) -> [Stage] {
        let document = try object("$fill", value, 9)
        for field in document.fields
        where !["partitionBy", "partitionByFields", "sortBy", "output"].contains(field.key) {
            throw .unknownField("$fill.\(field.key)")
        }
        guard case .document(let outputs)? = document["output"] else { throw .missingField("$fill.output") }
        guard !outputs.isEmpty else {
            throw QueryError(code: 6_050_203, message: "$fill 'output' must have at least one field")
        }
        guard document["partitionBy"] == nil || document["partitionByFields"] == nil else {
            throw QueryError(
                code: 6_050_204,
                message: "Maximum one of 'partitionBy' and 'partitionByFields' can be specified in '$fill'")
        }
        var methods = Document(), constants = Document()
        for field in outputs.fields {
            guard case .document(let output) = field.value, output.count == 1, let kind = output.fields.first else {
                throw QueryError(
                    code: 6_050_200, message: "Each '$fill' output field must have exactly one of 'value' and 'method'")
            }
            switch (kind.key, kind.value) {
            case ("value", let value): constants[field.key] = ["$ifNull": [.string("$" + field.key), value]]
            case ("method", "linear"): methods[field.key] = ["$linearFill": .string("$" + field.key)]
            case ("method", "locf"): methods[field.key] = ["$locf": .string("$" + field.key)]
            case ("method", _): throw QueryError(code: 6_050_202, message: "Method must be either 'locf' or 'linear'")
            default: throw .unknownField("$fill.output.\(kind.key)")
            }
        }
        var stages: [Stage] = []
        if !methods.isEmpty {
            guard let sort = document["sortBy"] else {
                throw QueryError(code: 605_001, message: "$fill with a 'method' requires 'sortBy'")
            }
            var specification: Document = ["sortBy": sort, "output": .document(methods)]
            if let partition = document["partitionBy"] { specification["partitionBy"] = partition }
            let names = try paths("$fill.partitionByFields", document["partitionByFields"])
            if !names.isEmpty {
                // Names of variables and of documents' fields can't contain dots, so the values go into an array.
                specification["partitionBy"] = [
                    "values": .array(names.map { ["$ifNull": [.string("$\($0)"), .null]] })
                ]
            }
            stages.append(.window(try window(.document(specification))))
        }
        if !constants.isEmpty { stages += try parse(["$addFields": .document(constants)]) }
        return stages
    }
}
