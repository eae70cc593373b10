import DocumentModel

/// Stages that read other collections or run pipelines of their own.
extension StageParser {
    static let unserved: Set<String> = [
        "$changeStream", "$changeStreamSplitLargeEvent", "$collStats", "$currentOp", "$indexStats",
        "$listLocalSessions",
        "$listSessions", "$planCacheStats", "$querySettings", "$rankFusion", "$scoreFusion", "$vectorSearch",
        "$listSampledQueries", "$listClusterCatalog", "$listSearchIndexes", "$queryStats", "$shardedDataDistribution",
    ]

    func parseJoin(_ name: String, _ value: Value) throws(QueryError) -> Stage {
        switch name {
        case "$lookup": return .lookup(try lookup(value))
        case "$graphLookup": return .graphLookup(try graphLookup(value))
        case "$facet": return .facet(try facet(value))
        case "$bucket": return .bucket(try bucket(value))
        case "$bucketAuto": return .bucketAuto(try bucketAuto(value))
        case "$unionWith": return try union(value)
        case "$setWindowFields": return .window(try window(value))
        case "$geoNear": return .geoNear(try geoNear(value))
        case "$densify": return .densify(try densify(value))
        default:
            if Self.unserved.contains(name) { throw .notSupported(name) }
            throw QueryError(code: 40324, message: "Unrecognized pipeline stage name: '\(name)'")
        }
    }

    private func pipeline(_ value: Value, variables names: [String] = []) throws(QueryError) -> Pipeline {
        let pipeline = try Pipeline(
            try Pipeline.documents(value), variables: variables.union(names.map { ExactText($0) }), depth: depth + 1)
        for stage in pipeline.stages {
            if case .output(let name, _) = stage {
                throw QueryError(code: 51047, message: "\(name) is not allowed within a sub-pipeline")
            }
        }
        return pipeline
    }

    private func text(_ stage: String, _ name: String, _ document: Document) throws(QueryError) -> String {
        guard let value = document[name] else { throw .failedToParse("\(stage) argument '\(name)' is missing") }
        guard case .string(let text) = value, !text.isEmpty else {
            throw .failedToParse("\(stage) argument '\(name)' must be a string, found \(value.typeName)")
        }
        return text
    }

    private func lookup(_ value: Value) throws(QueryError) -> LookupSpecification {
        let document = try object("$lookup", value, 9)
        for field in document.fields
        where !["from", "localField", "foreignField", "as", "let", "pipeline"].contains(field.key) {
            throw .failedToParse("unknown argument to $lookup: \(field.key)")
        }
        var variables: [(name: String, value: Expression)] = []
        if let value = document["let"] {
            guard case .document(let definitions) = value else {
                throw .failedToParse("$lookup argument 'let' must be an object")
            }
            for field in definitions.fields { variables.append((field.key, try expression(field.value))) }
        }
        var inner: Pipeline?
        if let stages = document["pipeline"] { inner = try pipeline(stages, variables: variables.map(\.name)) }
        var fields: (local: Path, foreign: Path)?
        if document["localField"] != nil || document["foreignField"] != nil || inner == nil {
            fields = (
                try Path(field: text("$lookup", "localField", document)),
                try Path(field: text("$lookup", "foreignField", document))
            )
        }
        // A pipeline that begins with `$documents` needs no collection.
        let begins = if case .documents? = inner?.stages.first { true } else { false }
        return LookupSpecification(
            collection: begins && document["from"] == nil ? nil : try text("$lookup", "from", document), fields: fields,
            variables: variables, pipeline: inner,
            output: try Path(field: text("$lookup", "as", document)))
    }

    private func graphLookup(_ value: Value) throws(QueryError) -> GraphLookupSpecification {
        let document = try object("$graphLookup", value, 40327)
        let allowed = [
            "from", "startWith", "connectFromField", "connectToField", "as", "maxDepth", "depthField",
            "restrictSearchWithMatch",
        ]
        for field in document.fields where !allowed.contains(field.key) {
            throw QueryError(code: 40104, message: "Unknown argument to $graphLookup: \(field.key)")
        }
        guard let start = document["startWith"] else {
            throw QueryError(code: 40105, message: "$graphLookup requires 'startWith'")
        }
        var maximumDepth: Int?
        if let value = document["maxDepth"] {
            guard value.isNumber else {
                throw QueryError(code: 40100, message: "maxDepth must be numeric, found type: \(value.typeName)")
            }
            guard value.doubleValue.map({ $0 >= 0 }) == true else {
                throw QueryError(code: 40101, message: "maxDepth requires a nonnegative argument, found: \(value)")
            }
            guard let number = value.intValue else {
                throw QueryError(
                    code: 40102, message: "maxDepth could not be represented as a long long: \(value)")
            }
            maximumDepth = number
        }
        var restriction: Filter?
        if let value = document["restrictSearchWithMatch"] {
            restriction = try Filter(try object("restrictSearchWithMatch", value, 40185))
        }
        return GraphLookupSpecification(
            collection: try text("$graphLookup", "from", document), start: try expression(start),
            connectFrom: try Path(field: text("$graphLookup", "connectFromField", document)),
            connectTo: try Path(field: text("$graphLookup", "connectToField", document)),
            output: try Path(field: text("$graphLookup", "as", document)),
            maximumDepth: maximumDepth, depthField: document["depthField"]?.stringValue.map { Path($0) },
            restriction: restriction)
    }

    private func facet(_ value: Value) throws(QueryError) -> [(name: String, pipeline: Pipeline)] {
        let document = try object("$facet", value, 40169)
        guard !document.isEmpty else {
            throw QueryError(code: 40169, message: "the $facet specification must be a non-empty object")
        }
        var facets: [(name: String, pipeline: Pipeline)] = []
        for field in document.fields {
            let inner = try Pipeline(
                try Pipeline.documents(field.value), variables: variables, depth: depth + 1)
            for stage in inner.stages {
                switch stage {
                case .output, .facet, .search, .geoNear, .documents:
                    throw QueryError(
                        code: 40600, message: "\(stage.name) is not allowed to be used within a $facet stage")
                default: break
                }
            }
            facets.append((field.key, inner))
        }
        return facets
    }

    private func union(_ value: Value) throws(QueryError) -> Stage {
        if case .string(let collection) = value {
            return .unionWith(collection: collection, pipeline: try pipeline(.array([])))
        }
        let document = try object("$unionWith", value, 9)
        for field in document.fields where field.key != "coll" && field.key != "pipeline" {
            throw .unknownField("$unionWith.\(field.key)")
        }
        let inner = try pipeline(document["pipeline"] ?? .array([]))
        let begins = if case .documents? = inner.stages.first { true } else { false }
        return .unionWith(
            collection: begins && document["coll"] == nil ? nil : try text("$unionWith", "coll", document),
            pipeline: inner)
    }

    private func geoNear(_ value: Value) throws(QueryError) -> GeoNearSpecification {
        let document = try object("$geoNear", value, 10065)
        guard let near = document["near"] else {
            throw QueryError(code: 5_860_400, message: "$geoNear requires a 'near' argument")
        }
        guard case .string(let distance)? = document["distanceField"] else {
            throw QueryError(code: 16606, message: "$geoNear requires a 'distanceField' option as a String")
        }
        guard case .string(let key)? = document["key"] else {
            throw .notSupported("$geoNear without 'key' inside of another stage")
        }
        var condition = Document()
        if near["type"] != nil {
            var parts: Document = ["$geometry": near]
            for name in ["minDistance", "maxDistance"] { parts["$\(name)"] = document[name] }
            condition["$nearSphere"] = .document(parts)
        } else {
            condition[document["spherical"]?.boolValue == true ? "$nearSphere" : "$near"] = near
            for name in ["minDistance", "maxDistance"] { condition["$\(name)"] = document[name] }
        }
        var filter: Document = [key: .document(condition)]
        if case .document(let query)? = document["query"] { filter = ["$and": [.document(query), .document(filter)]] }
        return GeoNearSpecification(
            filter: try Filter(filter), distanceField: try Path(field: distance),
            locationField: document["includeLocs"]?.stringValue.map { Path($0) },
            multiplier: document["distanceMultiplier"]?.doubleValue ?? 1)
    }
}
