import DocumentModel

/// `$setWindowFields`.
extension StageParser {
    func window(_ value: Value) throws(QueryError) -> WindowSpecification {
        let document = try object("$setWindowFields", value, 9)
        for field in document.fields where !["partitionBy", "sortBy", "output"].contains(field.key) {
            throw .unknownField("$setWindowFields.\(field.key)")
        }
        guard case .document(let outputs)? = document["output"] else {
            throw .missingField("$setWindowFields.output")
        }
        var sort: Sort?
        if case .document(let order)? = document["sortBy"] { sort = try Sort(order) }
        var partition: Expression?
        if let value = document["partitionBy"] { partition = try expression(value) }
        var parsed: [WindowSpecification.Output] = []
        for field in outputs.fields { parsed.append(try windowOutput(field, sort)) }
        return WindowSpecification(partition: partition, sort: sort, outputs: parsed)
    }

    private func windowOutput(_ field: Document.Field, _ sort: Sort?) throws(QueryError) -> WindowSpecification.Output {
        guard case .document(let document) = field.value,
            let operation = document.fields.first(where: { $0.key != "window" })
        else {
            throw .failedToParse("Expected a $-prefixed window function, in \(field.key)")
        }
        let function: WindowSpecification.Function
        switch operation.key {
        case "$rank", "$denseRank", "$documentNumber": function = try rank(operation, document, sort)
        case "$shift":
            guard let output = operation.value["output"], let by = operation.value["by"]?.intValue,
                Int32(exactly: by) != nil
            else {
                throw .failedToParse("$shift requires 'output' and an integer 'by'")
            }
            function = .shift(try expression(output), by: by, otherwise: operation.value["default"] ?? .null)
        case "$locf": function = .lastObserved(try expression(operation.value))
        case "$linearFill":
            try requireOneKey(operation.key, sort)
            function = .linearFill(try expression(operation.value))
        case "$derivative", "$integral":
            try requireOneKey(operation.key, sort)
            let (input, unit) = try slope(operation)
            function =
                operation.key == "$derivative" ? .derivative(input, unit: unit) : .integral(input, unit: unit)
        case "$expMovingAvg": function = try movingAverage(operation.value)
        case "$covariancePop", "$covarianceSamp":
            guard case .array(let operands) = operation.value, operands.count == 2 else {
                throw .failedToParse("\(operation.key) requires an array of exactly two expressions")
            }
            function = .covariance(
                try expression(operands[0]), try expression(operands[1]), isSample: operation.key == "$covarianceSamp")
        default: function = .accumulator(try accumulator(operation: operation))
        }
        if sort == nil {
            switch function {
            case .accumulator, .lastObserved, .covariance: break
            default:
                throw QueryError(
                    code: 5_371_602, message: "\(operation.key) must be specified with a top level sortBy expression")
            }
        }
        return WindowSpecification.Output(
            path: try Path(field: field.key), function: function, window: try window(of: document, sort))
    }

    /// The functions that depend only on the position: they have neither arguments nor a window.
    private func rank(_ operation: Document.Field, _ document: Document, _ sort: Sort?) throws(QueryError)
        -> WindowSpecification.Function
    {
        guard document["window"] == nil else {
            throw QueryError(code: 5_371_601, message: "Rank style window functions take no other arguments")
        }
        guard operation.value.documentValue?.isEmpty == true else {
            throw QueryError(code: 5_371_603, message: "\(operation.key) must be specified with '{}' as the value")
        }
        if operation.key == "$documentNumber" { return .documentNumber }
        guard sort?.keys.count == 1 else {
            throw QueryError(
                code: 5_371_602,
                message:
                    "\(operation.key) must be specified with a top level sortBy expression with exactly one element")
        }
        return operation.key == "$rank" ? .rank : .denseRank
    }

    private func requireOneKey(_ name: String, _ sort: Sort?) throws(QueryError) {
        guard sort?.keys.count == 1 else {
            throw QueryError(code: 605_001, message: "\(name) must be specified with a top level sortBy of one field")
        }
    }

    /// The input of `$derivative` or `$integral`, and its unit in milliseconds.
    private func slope(_ operation: Document.Field) throws(QueryError) -> (Expression, unit: Int64?) {
        let document = try object(operation.key, operation.value, 9)
        for field in document.fields where field.key != "input" && field.key != "unit" {
            throw .failedToParse("\(operation.key) got unexpected argument: \(field.key)")
        }
        guard let input = document["input"] else { throw .failedToParse("\(operation.key) requires an 'input'") }
        guard let unit = document["unit"] else { return (try expression(input), nil) }
        guard let length = try DateUnit(unit, operation.key).milliseconds else {
            throw QueryError(code: 5_490_704, message: "unit must be 'week' or smaller")
        }
        return (try expression(input), length)
    }

    private func movingAverage(_ value: Value) throws(QueryError) -> WindowSpecification.Function {
        let document = try object("$expMovingAvg", value, 9)
        guard let input = document["input"], document.count == 2 else {
            throw .failedToParse("$expMovingAvg requires 'input' and exactly one of 'N' and 'alpha'")
        }
        if let count = document["N"] {
            guard let number = count.int64Value, number > 0 else {
                throw .failedToParse("$expMovingAvg 'N' must be an integer greater than 0")
            }
            return .movingAverage(try expression(input), weight: .count(number))
        }
        guard let alpha = document["alpha"], let fraction = alpha.doubleValue, fraction > 0, fraction < 1 else {
            throw .failedToParse("$expMovingAvg 'alpha' must be between 0 and 1 (exclusive)")
        }
        return .movingAverage(try expression(input), weight: .fraction(alpha))
    }

    private func window(of document: Document, _ sort: Sort?) throws(QueryError) -> WindowSpecification.Window {
        guard let value = document["window"] else { return .documents(lower: nil, upper: nil) }
        guard case .document(let window) = value else { throw .failedToParse("'window' field must be an object") }
        if window.isEmpty { return .documents(lower: nil, upper: nil) }
        let isRange = window["range"] != nil
        guard case .array(let bounds)? = window["documents"] ?? window["range"], bounds.count == 2 else {
            throw .failedToParse("Window bounds must be a 2-element array")
        }
        guard !isRange else {
            guard sort?.keys.count == 1, sort?.keys[0].ascending == true else {
                throw QueryError(
                    code: 5_339_902, message: "Range-based bounds require a sortBy a single field, ascending")
            }
            let offsets = bounds.map { $0.isNumber ? $0 : nil }
            for bound in bounds where !bound.isNumber && bound != "unbounded" && bound != "current" {
                throw .failedToParse("Range-based bounds expression must be a number")
            }
            return .range(
                lower: offsets[0], upper: offsets[1], isCurrentLower: bounds[0] == "current",
                isCurrentUpper: bounds[1] == "current",
                unit: window["unit"]?.stringValue)
        }
        var places: [Int?] = []
        for bound in bounds {
            switch bound {
            case "unbounded": places.append(nil)
            case "current": places.append(0)
            default:
                guard let number = bound.intValue, Int32(exactly: number) != nil else {
                    throw .failedToParse("Numeric document-based bounds must be an integer")
                }
                places.append(number)
            }
        }
        if sort == nil, places[0] != nil || places[1] != nil {
            throw QueryError(code: 5_339_901, message: "Document-based bounds require a sortBy")
        }
        if let lower = places[0], let upper = places[1], lower > upper {
            throw QueryError(code: 5_339_900, message: "Lower bound must not exceed upper bound")
        }
        return .documents(lower: places[0], upper: places[1])
    }
}
