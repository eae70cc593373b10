import DocumentModel

/// Applies operators to one document and records what changed.
struct UpdateApplication {
    private let operations: [UpdateOperation]
    private let arrayFilters: [ExactText: ArrayFilter]
    private let filter: Filter?
    private let isUpsertInsert: Bool
    private let now: Int64
    private var description = UpdateDescription()
    private var position: Int?
    private var id: Value?
    private var places: FieldPlaces?

    init(
        operations: [UpdateOperation], arrayFilters: [ExactText: ArrayFilter], filter: Filter?, isUpsertInsert: Bool,
        now: Int64
    ) {
        self.operations = operations
        self.arrayFilters = arrayFilters
        self.filter = filter
        self.isUpsertInsert = isUpsertInsert
        self.now = now
        if operations.count > 64, operations.allSatisfy(\.isPlain) { places = FieldPlaces() }
    }

    consuming func apply(to document: inout Document) throws(QueryError) -> UpdateDescription {
        id = document.id
        if operations.contains(where: { $0.path.steps.contains(.positional) }) {
            position = try filter?.positionalIndex(in: document, now: now)
        }
        // A single operator changes nothing if it fails, so only several operators need a copy to restore.
        if operations.count == 1, operations[0].path.steps.count == 1, operations[0].path.description != "_id" {
            try apply(operations[0], to: &document)
            return description
        }
        var changed = document
        for (index, operation) in operations.enumerated() {
            try QueryError.throwIfInterrupted(every: index)
            try apply(operation, to: &changed)
        }
        places?.removeUnset(from: &changed)
        description.uniteUpdates()
        if let id, !isUpsertInsert, changed.id != id {
            throw QueryError(
                code: 66, message: "Performing an update on the path '_id' would modify the immutable field '_id'")
        }
        document = changed
        return description
    }

    private mutating func apply(_ operation: UpdateOperation, to document: inout Document) throws(QueryError) {
        switch operation.action {
        case .setOnInsert where !isUpsertInsert: return
        case .rename(let target): try rename(operation.path, to: target, in: &document)
        default:
            var value = Value.document(document)
            document = Document()
            defer { document = value.takeDocument() ?? Document() }
            try descend(operation, operation.path.steps[...], into: &value, at: "")
        }
    }

    private mutating func note(_ value: Value, at path: String) {
        description.updatedFields.fields.append(Document.Field(path, value))
    }

    private mutating func index(of name: String, in document: Document, at path: String) -> Int? {
        guard places != nil else { return document.index(of: name) }
        return places?.index(of: name, in: document, at: path)
    }

    private static func join(_ path: String, _ name: String) -> String { path.isEmpty ? name : "\(path).\(name)" }

    private mutating func descend(
        _ operation: UpdateOperation, _ steps: ArraySlice<UpdatePath.Step>, into container: inout Value, at path: String
    ) throws(QueryError) {
        guard let step = steps.first else { return }
        let rest = steps.dropFirst()
        switch step {
        case .name(let name): try descend(operation, name, rest, into: &container, at: path)
        case .positional:
            guard let position else {
                throw .badValue("The positional operator did not find the match needed from the query.")
            }
            try descend(operation, Path.Component(String(position)), rest, into: &container, at: path)
        case .all: try forEach(operation, rest, in: &container, at: path) { (_) throws(QueryError) in true }
        case .filtered(let name):
            guard let filter = arrayFilters[name] else {
                throw .badValue("No array filter found for identifier '\(name)' in path '\(operation.path)'")
            }
            try forEach(operation, rest, in: &container, at: path) { [now] (element) throws(QueryError) in
                try filter.matches(element, now: now)
            }
        }
    }

    private mutating func forEach(
        _ operation: UpdateOperation, _ rest: ArraySlice<UpdatePath.Step>, in container: inout Value, at path: String,
        where isMeant: (Value) throws(QueryError) -> Bool
    ) throws(QueryError) {
        guard var elements = container.takeArray() else {
            throw .badValue("Cannot apply array updates to non-array element \(path): \(container)")
        }
        defer { container = .array(elements) }
        for index in elements.indices where try isMeant(elements[index]) {
            let name = Self.join(path, String(index))
            if rest.isEmpty {
                try change(operation, &elements[index], at: name)
            } else {
                try descend(operation, rest, into: &elements[index], at: name)
            }
        }
    }

    private mutating func descend(
        _ operation: UpdateOperation, _ name: Path.Component, _ rest: ArraySlice<UpdatePath.Step>,
        into container: inout Value, at path: String
    ) throws(QueryError) {
        let below = Self.join(path, name.name)
        if var document = container.takeDocument() {
            defer { container = .document(document) }
            guard let index = index(of: name.name, in: document, at: path) else {
                if let value = try create(operation, rest, at: below) {
                    places?.add(name.name, to: document, at: path)
                    document.fields.append(Document.Field(name.name, value))
                }
                return
            }
            if rest.isEmpty, case .unset = operation.action {
                if places?.unset(name.name, at: path) == nil { document.fields.remove(at: index) }
                description.removedFields.append(below)
            } else if rest.isEmpty {
                try change(operation, &document.fields[index].value, at: below)
            } else {
                try descend(operation, rest, into: &document.fields[index].value, at: below)
            }
            return
        }
        guard let count = container.arrayCount, let index = name.index else {
            guard operation.action.createsPath else { return }
            throw .pathNotViable(
                "Cannot create field '\(name.name)' in element {\(path.split(separator: ".").last ?? ""): \(container)}"
            )
        }
        if index >= count {
            guard let value = try create(operation, rest, at: below) else { return }
            guard index - count <= 1_500_000 else { throw .badValue("can't backfill more than 1500000 elements") }
            var elements = container.takeArray() ?? []
            elements.append(contentsOf: repeatElement(.null, count: index - count))
            elements.append(value)
            container = .array(elements)
            return
        }
        try descendIntoElement(operation, index, rest, of: &container, at: below)
    }

    private mutating func descendIntoElement(
        _ operation: UpdateOperation, _ index: Int, _ rest: ArraySlice<UpdatePath.Step>, of container: inout Value,
        at path: String
    ) throws(QueryError) {
        guard var elements = container.takeArray() else { return }
        defer { container = .array(elements) }
        if !rest.isEmpty {
            try descend(operation, rest, into: &elements[index], at: path)
        } else if case .unset = operation.action {
            if case .null = elements[index] { return }
            elements[index] = .null
            note(.null, at: path)
        } else {
            try change(operation, &elements[index], at: path)
        }
    }

    /// The value that the operator creates at a path that doesn't exist, within the documents that are missing along the path.
    private mutating func create(
        _ operation: UpdateOperation, _ rest: ArraySlice<UpdatePath.Step>, at path: String
    ) throws(QueryError) -> Value? {
        guard operation.action.createsPath else { return nil }
        var names: [String] = []
        for step in rest {
            switch step {
            case .name(let name): names.append(name.name)
            case .positional:
                guard let position else {
                    throw .badValue("The positional operator did not find the match needed from the query.")
                }
                names.append(String(position))
            default: throw .badValue("The path '\(path)' must exist in the document in order to apply array updates.")
            }
        }
        guard var value = try UpdateArithmetic.initialValue(operation.action, now: now) else { return nil }
        for name in names.reversed() { value = .document(Document(fields: [Document.Field(name, value)])) }
        note(value, at: path)
        return value
    }

    /// Applies the operator to an existing value.
    private mutating func change(_ operation: UpdateOperation, _ value: inout Value, at path: String) throws(QueryError)
    {
        if case .unset = operation.action {
            if case .null = value { return }
            value = .null
            note(.null, at: path)
            return
        }
        switch try UpdateArithmetic.change(&value, by: operation.action, at: path, id: id, now: now) {
        case .nothing: break
        case .value: note(value, at: path)
        case .appended(let count):
            guard case .array(let elements) = value else { return }
            for index in elements.count - count..<elements.count {
                note(elements[index], at: Self.join(path, String(index)))
            }
        }
    }

    private mutating func rename(_ source: UpdatePath, to target: UpdatePath, in document: inout Document)
        throws(QueryError)
    {
        guard let from = source.plain, let to = target.plain else { return }
        try refuseArrays(
            on: from, in: document, "source",
            "The source field cannot be an array element, '\(from)' in doc with \(idText)")
        guard let value = document.value(at: from) else { return }
        try refuseArrays(
            on: to, in: document, "destination",
            "The destination field cannot be an array element, '\(to)' in doc with \(idText)")
        guard ValueBounds(maximumDepth: max(1, 100 - to.components.count)).excess(of: value) == nil else {
            throw QueryError(code: 15, message: "Renaming '\(from)' to '\(to)' would nest the document too deeply")
        }
        var copy = document
        copy.remove(at: from)
        let set = try UpdateOperation(.set, target, value)
        description.removedFields.append(from.description)
        try apply(set, to: &copy)
        document = copy
    }

    private var idText: String { id.map { "_id: \($0)" } ?? "no id" }

    private func refuseArrays(on path: Path, in document: Document, _ role: String, _ message: String)
        throws(QueryError)
    {
        var above = path.parent
        while let place = above {
            if case .array? = document.value(at: place) {
                throw .badValue("\(message) has an array field called '\(place)'")
            }
            above = place.parent
        }
    }
}
