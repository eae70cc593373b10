import DocumentModel

/// Parses a projection's document into its tree.
struct ProjectionParser {
    let isStage: Bool
    let variables: Set<ExactText>
    private var includes: String?
    private var excludes: String?
    private var firstIsInclusion: Bool?
    private var includesIsComputed = false
    /// The path of `field.$`.
    private(set) var positional: Path?
    private var isAddition = false
    private var keepsOthers = false
    private var keepsId: Bool?
    /// The names of the top-level fields so far.
    private var names: Set<ExactText> = []

    init(isStage: Bool, variables: Set<ExactText>) {
        self.isStage = isStage
        self.variables = variables
    }

    mutating func parse(_ document: Document) throws(QueryError) -> ([ProjectionNode.Child], Projection.Mode) {
        if isStage, document.isEmpty {
            throw QueryError(code: 51272, message: "projection specification must have at least one field")
        }
        var children: [ProjectionNode.Child] = []
        for field in document.fields {
            if field.key == "_id", let keeps = Self.flag(field.value) {
                keepsId = keeps
                continue
            }
            try add(field.value, at: field.key, to: &children)
        }
        if let includes, let excludes { throw mixture(includes, excludes, document) }
        // If there are no other fields, `_id` decides about the mode; otherwise it is included or excluded separately. `$slice`
        // alone keeps everything.
        let isInclusion = includes != nil || excludes == nil && !keepsOthers && keepsId == true
        if isInclusion {
            // A computed `_id` is named itself.
            if keepsId != false, !names.contains(ExactText("_id")) {
                children.insert(ProjectionNode.Child(name: "_id", node: .include), at: 0)
            }
            return (children.filter { if case .exclude = $0.node { false } else { true } }, .inclusion)
        }
        if keepsId == false { children.append(ProjectionNode.Child(name: "_id", node: .exclude)) }
        return (children, .exclusion)
    }

    private func mixture(_ includes: String, _ excludes: String, _ document: Document) -> QueryError {
        let isInclusion = firstIsInclusion ?? true
        if isInclusion {
            return QueryError(code: 31254, message: "Cannot do exclusion on field \(excludes) in inclusion projection")
        }
        return QueryError(
            code: includesIsComputed ? 31252 : 31253,
            message: includesIsComputed
                ? "Cannot use an expression \(includes) in an exclusion projection"
                : "Cannot do inclusion on field \(includes) in exclusion projection")
    }

    private mutating func include(_ path: String, isComputed: Bool = false) {
        if includes == nil {
            includes = path
            includesIsComputed = isComputed
        }
        firstIsInclusion = firstIsInclusion ?? true
    }

    private mutating func exclude(_ path: String) {
        excludes = excludes ?? path
        firstIsInclusion = firstIsInclusion ?? false
    }

    mutating func parseAddition(_ document: Document) throws(QueryError) -> [ProjectionNode.Child] {
        guard !document.isEmpty else {
            throw QueryError(code: 40177, message: "$addFields specification must have at least one field")
        }
        isAddition = true
        var children: [ProjectionNode.Child] = []
        for field in document.fields { try addAddition(field.value, at: field.key, to: &children) }
        return children
    }

    private mutating func addAddition(_ value: Value, at path: String, to children: inout [ProjectionNode.Child])
        throws(QueryError)
    {
        if case .document(let document) = value, let first = document.fields.first,
            first.key.utf8.first != UInt8(ascii: "$")
        {
            for field in document.fields { try addAddition(field.value, at: "\(path).\(field.key)", to: &children) }
            return
        }
        try insert(.computed(try Expression(value, variables: variables)), at: path, into: &children)
    }

    private mutating func addPositional(
        _ value: Value, at path: String, to children: inout [ProjectionNode.Child]
    ) throws(QueryError) {
        if isStage {
            throw QueryError(code: 31324, message: "Cannot use positional projection in aggregation projection")
        }
        guard !path.contains(".$.") else {
            throw QueryError(
                code: 31394,
                message: "As of 4.4, it's illegal to specify positional operator in the middle of a path. "
                    + "Positional projection may only be used at the end, for example: a.b.$.")
        }
        guard let flag = Self.flag(value) else {
            if case .document = value {
                throw QueryError(
                    code: 31271, message: "positional projection cannot be used with an expression or sub object")
            }
            throw QueryError(code: 31308, message: "positional projection cannot be used with a literal")
        }
        guard flag else {
            throw QueryError(code: 31395, message: "positional projection cannot be used with exclusion")
        }
        guard positional == nil else {
            throw QueryError(code: 31276, message: "Cannot specify more than one positional projection per query.")
        }
        let array = String(path.dropLast(2))
        positional = try Path(field: array)
        include(path)
        try insert(.include, at: array, into: &children)
    }

    private static func flag(_ value: Value) -> Bool? {
        switch value {
        case .bool(let flag): flag
        case .int32, .int64, .double, .decimal128: value.isTruthy
        default: nil
        }
    }

    private mutating func add(_ value: Value, at path: String, to children: inout [ProjectionNode.Child])
        throws(QueryError)
    {
        if path.hasSuffix(".$") || !isStage && path.contains(".$.") {
            return try addPositional(value, at: path, to: &children)
        }
        if let flag = Self.flag(value) {
            if flag { include(path) } else { exclude(path) }
            return try insert(flag ? .include : .exclude, at: path, into: &children)
        }
        if case .document(let document) = value, let first = document.fields.first {
            if !isStage, try addOperator(first, document, at: path, to: &children) { return }
            if first.key.utf8.first != UInt8(ascii: "$") {
                for field in document.fields { try add(field.value, at: "\(path).\(field.key)", to: &children) }
                return
            }
        }
        if case .document(let document) = value, document.isEmpty {
            throw QueryError(
                code: 51270, message: "An empty sub-projection is not a valid value. Found empty object at path")
        }
        include(path, isComputed: true)
        try insert(.computed(try computed(value)), at: path, into: &children)
    }

    /// - Throws: in a `find`, 31325 for an unknown operator.
    private func computed(_ value: Value) throws(QueryError) -> Expression {
        do throws(QueryError) {
            return try Expression(value, variables: variables)
        } catch  where error.code == 168 && !isStage {
            throw QueryError(code: 31325, message: "Unknown expression in projection: \(error.message)")
        }
    }

    private mutating func addOperator(
        _ first: Document.Field, _ document: Document, at path: String, to children: inout [ProjectionNode.Child]
    ) throws(QueryError) -> Bool {
        switch first.key {
        case "$slice":
            // If its first argument is an array, this is the expression of the same name.
            if case .array(let parts) = first.value {
                guard parts.count == 2, let skip = parts[0].intValue, let limit = parts[1].intValue else {
                    return false
                }
                guard limit > 0 else { throw QueryError(code: 28724, message: "$slice limit must be positive") }
                try insert(.slice(skip: skip, limit: limit), at: path, into: &children)
            } else {
                guard let limit = first.value.intValue else {
                    throw QueryError(code: 28667, message: "Invalid $slice syntax")
                }
                try insert(.slice(skip: nil, limit: limit), at: path, into: &children)
            }
            keepsOthers = true
            return true
        case "$elemMatch":
            guard !path.utf8.contains(UInt8(ascii: ".")) else {
                throw QueryError(code: 31255, message: "Cannot use $elemMatch projection on a nested field.")
            }
            guard case .document = first.value else {
                throw QueryError(
                    code: 31274,
                    message: "elemMatch: Invalid argument, object required, but got \(first.value.typeName)")
            }
            var parser = FilterParser()
            guard let condition = try parser.conditions(document, at: nil).first else { return false }
            include(path)
            try insert(.elementMatch(condition), at: path, into: &children)
            return true
        case "$meta": throw .notSupported("$meta")
        default: return false
        }
    }

    private mutating func insert(_ node: ProjectionNode, at path: String, into children: inout [ProjectionNode.Child])
        throws(QueryError)
    {
        let components = try Path(field: path).components
        let first = ExactText(components[0].name)
        // Most names are new, and there may be many, so a set is used to find them.
        guard !names.insert(first).inserted else {
            children.append(try Self.child(node, components[...], path))
            return
        }
        do {
            try Self.insert(node, components[...], path, into: &children)
        } catch  where isAddition && (error.code == 31249 || error.code == 31250) {
            throw QueryError(
                code: 40176, message: "specification contains two conflicting paths, one of them '\(path)'")
        }
    }

    /// A field that isn't in the tree yet, with the fields that are named below it.
    private static func child(_ node: ProjectionNode, _ path: ArraySlice<Path.Component>, _ text: String)
        throws(QueryError) -> ProjectionNode.Child
    {
        var below: [ProjectionNode.Child] = []
        let rest = path.dropFirst()
        if !rest.isEmpty { try insert(node, rest, text, into: &below) }
        return ProjectionNode.Child(name: path.first?.name ?? "", node: rest.isEmpty ? node : .children(below))
    }

    private static func insert(
        _ node: ProjectionNode, _ path: ArraySlice<Path.Component>, _ text: String,
        into children: inout [ProjectionNode.Child]
    ) throws(QueryError) {
        guard let first = path.first else { return }
        let rest = path.dropFirst()
        guard let index = children.firstIndex(where: { $0.name.hasSameBytes(as: first.name) }) else {
            children.append(try child(node, path, text))
            return
        }
        guard !rest.isEmpty, case .children(var below) = children[index].node else {
            if rest.isEmpty { throw QueryError(code: 31250, message: "Path collision at \(text)") }
            throw QueryError(
                code: 31249,
                message: "Path collision at \(text) remaining portion \(rest.map(\.name).joined(separator: "."))")
        }
        try insert(node, rest, text, into: &below)
        children[index].node = .children(below)
    }
}
