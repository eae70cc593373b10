public import DocumentModel

extension AppFiles {
    /// The name of the stored form.
    static let format = "partita.app.v1"

    /// The files as one document `{format, files: {path: text}}`, sorted by path; with `choices` if there are any.
    public var document: Document {
        let files = paths.map { Document.Field($0, .string(texts[$0] ?? "")) }
        var document: Document = ["format": .string(Self.format), "files": .document(Document(fields: files))]
        if !choices.document.isEmpty { document["choices"] = .document(choices.document) }
        return document
    }

    /// Reads a document in the form of `document`.
    ///
    /// - Throws: `AppDefinitionError` with code `storedFormUnknown` for anything else.
    public init(document: Document) throws(AppDefinitionError) {
        guard case .string(Self.format)? = document["format"], case .document(let files)? = document["files"] else {
            throw AppDefinitionError(code: .storedFormUnknown, message: "not a stored app definition (\(Self.format))")
        }
        var texts: [ExactText: String] = [:]
        for field in files.fields {
            guard case .string(let text) = field.value else {
                throw AppDefinitionError(code: .storedFormUnknown, message: "the stored file \(field.key) isn't text")
            }
            texts[field.key] = text
        }
        self.init(texts)
        if let choices = document["choices"]?.documentValue { self.choices = DeploymentChoices(document: choices) }
    }
}
