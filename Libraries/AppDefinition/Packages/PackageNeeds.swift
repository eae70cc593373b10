import DocumentModel

/// What a package needs of others, as its `package.json` says.
struct PackageNeeds {
    /// Without these it fails.
    let required: [String]
    /// It uses these if they are there.
    let others: [String]

    /// - Parameter text: of its `package.json`; one that isn't JSON needs nothing.
    init(_ text: String) {
        let value = try? ExtendedJSON.parse(text, limits: .input)  // as it says: then it needs nothing
        let optional = Self.names(value?["optionalDependencies"])
        // npm repeats the optional ones among the others.
        required = Self.names(value?["dependencies"]).filter { !optional.containsExactly($0) }
        others = optional + Self.names(value?["peerDependencies"])
    }

    /// The names of packages in a list with their versions.
    static func names(_ list: Value?) -> [String] {
        (list?.documentValue?.fields ?? []).map(\.key).filter { !$0.isEmpty && !$0.startsWithBytes(of: ".") }
    }
}
