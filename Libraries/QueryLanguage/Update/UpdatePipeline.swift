import DocumentModel

/// An update in the form of an aggregation pipeline.
struct UpdatePipeline: Sendable {
    private let stages: [Stage]
    private let variables: [ExactText: Value]

    private static let allowed: Set<String> = [
        "$addFields", "$set", "$project", "$unset", "$replaceRoot", "$replaceWith",
    ]

    init(_ documents: [Document], variables: [ExactText: Value]) throws(QueryError) {
        for document in documents {
            guard let name = document.fields.first?.key, Self.allowed.contains(name) else {
                throw QueryError(
                    code: 72,
                    message:
                        "\(document.fields.first?.key ?? "an empty stage") is not allowed to be used within an update")
            }
        }
        stages = try Pipeline(documents, variables: Set(variables.keys)).stages
        self.variables = variables
    }

    func apply(to document: Document, now: Int64) throws(QueryError) -> Document {
        var result = document
        for stage in stages {
            let context = EvaluationContext(root: result, variables: variables, now: now)
            switch stage {
            case .project(let projection): result = try projection.apply(to: result, context: context)
            case .replaceRoot(let expression):
                let value = try expression.evaluate(context)
                guard case .document(let root)? = value else {
                    throw QueryError(
                        code: 40228,
                        message:
                            "'newRoot' expression must evaluate to an object, but resulting value was of type: \(value.typeName)"
                    )
                }
                result = root
            default: throw .notSupported("\(stage.name) in an update")
            }
        }
        // `_id` is restored if a stage has left it out.
        if let id = document.id, result.id == nil { result.fields.insert(Document.Field("_id", id), at: 0) }
        return result
    }
}
