public import DocumentModel

/// The sources of the packages that an app's functions require: what `npm install` puts into `functions/node_modules`.
///
/// Megabytes, which don't change, and are shared by reference.
public final class AppPackages: Hashable, Sendable {
    public static let none = AppPackages([:])

    /// The texts by path inside `node_modules` (`lodash/index.js`).
    public let texts: [ExactText: String]

    init(_ texts: [ExactText: String]) { self.texts = texts }

    public static func == (left: AppPackages, right: AppPackages) -> Bool {
        left === right
            || left.texts.count == right.texts.count
                && left.texts.allSatisfy { right.texts[$0.key.text]?.hasSameBytes(as: $0.value) == true }
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(texts.count) }

    public var isEmpty: Bool { texts.isEmpty }

    /// The names of the packages, such as `lodash` or `@scope/name`. Made anew by each call, since only a check of the app needs them.
    var names: Set<ExactText> { Set(texts.keys.map { ExactText(NodeModules.package(of: $0.text)) }) }

    /// The stored form: the texts by path, sorted.
    public var document: Document {
        Document(fields: texts.keys.sorted().map { .init($0.text, .string(texts[$0] ?? "")) })
    }

    /// Reads the stored form.
    /// - Throws: `AppDefinitionError` with code `storedFormUnknown` for anything else.
    public convenience init(document: Document) throws(AppDefinitionError) {
        var texts: [ExactText: String] = [:]
        for field in document.fields {
            guard case .string(let text) = field.value else {
                throw AppDefinitionError(code: .storedFormUnknown, message: "the stored module \(field.key) isn't text")
            }
            texts[field.key] = text
        }
        self.init(texts)
    }
}
