import DocumentModel

/// What Apple's page posts of a user beside the code, when they first sign in to an app: `{"name": {"firstName", "lastName"}, "email"}`. No
/// token has the name, and no later sign-in.
///
/// The browser posts it, and nothing signs it: so a name is taken, which users choose anyway, and no address.
struct AppleUser: Sendable {
    private static let limit = 4096
    private static let nameLimit = 256

    /// By the names of fields that App Services' exports use; empty names are left out.
    let profile: Document

    /// - Parameter text: the form's field `user`.
    /// - Throws: `badRequest`.
    init(_ text: String) throws(AuthError) {
        guard text.utf8.count <= Self.limit,
            let user = try? ExtendedJSON.parseDocument(Array(text.utf8), limits: .input)
        else { throw AuthError(.badRequest, "the field user isn't a JSON object of at most \(Self.limit) bytes") }
        var profile = Document()
        func name(_ key: String) -> String? {
            let name = user["name"]?[key]?.stringValue?.shortened(to: Self.nameLimit)
            return name.flatMap { $0.isEmpty || $0.utf8.contains(0) ? nil : $0 }
        }
        let names = [("first_name", name("firstName")), ("last_name", name("lastName"))]
        for (field, name) in names { if let name { profile[field] = .string(name) } }
        let whole = names.compactMap(\.1).joined(separator: " ")
        if !whole.isEmpty { profile["name"] = .string(whole) }
        self.profile = profile
    }
}
