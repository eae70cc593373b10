import AppDefinition
import DocumentModel

/// A media field of one document, to which jobs, references and links refer.
struct MediaPlace: Hashable, Sendable {
    @ExactText var app: String
    var namespace: ChangeEvent.Namespace
    /// The document's `_id`.
    var documentKey: Value
    /// The dotted path of the binary.
    @ExactText var path: String

    /// The text of the `_id`.
    var id: String { documentKey.idText ?? "" }

    /// The digest that a link refers to, if the link belongs to this document; other values that clients write there are ignored.
    func digest(of link: Value?) -> String? {
        guard let link = link?.stringValue.flatMap({ MediaLink($0) }), link.app.hasSameBytes(as: app),
            link.namespace == namespace,
            link.id.hasSameBytes(as: id)
        else { return nil }
        return link.digest
    }
}

extension MediaField {
    var namespace: ChangeEvent.Namespace { .init(database: database, collection: collection) }

    /// The binary that has to be moved out of the document; `nil` when there is none, or it is too small.
    func binary(in document: Document?) -> Binary? {
        guard let binary = document?.value(at: Path(field))?.binaryValue, binary.bytes.count >= max(minimumBytes, 1)
        else { return nil }
        return binary
    }

    func link(in document: Document?) -> Value? { document?.value(at: Path(linkField)) }
}
