import DocumentModel

extension DefinitionReader {
    /// The most bytes of an app's id, which is part of URLs, Kafka keys and schema names.
    private static let idLimit = 48
    /// Where a version of the vendor's tool keeps the id that clients use.
    private static let metaFile = ".mdb/meta.json"

    /// The app's name and id. Exports that were made as templates have no id, or a placeholder.
    func readIdentity(_ roots: [ConfigNode], into definition: inout AppDefinition) {
        let name = roots.lazy.compactMap { usable($0, "name") }.first
        let place = roots.first { $0.child("app_id") != nil } ?? roots.first
        if let chosen = files.choices.appId?.text {
            definition.id = chosen
            check(chosen) { log.add(.fieldValue, file: "", "--app-id \($0)") }
        } else if let (id, root) = roots.lazy.compactMap({ root in usable(root, "app_id").map { ($0, root) } }).first {
            definition.id = id
            check(id) { root.problem(.fieldValue, at: "app_id", $0) }
        } else if let meta = json(Self.metaFile), let id = usable(meta, "client_app_id") {
            definition.id = id
            check(id) { meta.problem(.fieldValue, at: "client_app_id", $0) }
            note(place, "the app's id is '\(id)', the client_app_id of \(Self.metaFile)")
        } else if let id = name.flatMap(Self.id) {
            definition.id = id
            note(
                place,
                "the app's id is '\(id)', made of its name. Clients have to use it: if they have another id, deploy with --app-id ID"
            )
        } else {
            let message =
                "app_id is missing, and there is no name to make one of: deploy with --app-id ID, or write app_id into \(place?.file ?? Self.rootFiles[0])"
            guard let place else { return log.add(.fieldMissing, file: Self.rootFiles[0], message) }
            place.problem(.fieldMissing, at: place.child("app_id") == nil ? nil : "app_id", message)
        }
        definition.name = name ?? definition.id
    }

    /// A text that is neither empty nor a placeholder such as `<Your App Name>`.
    private func usable(_ node: ConfigNode, _ key: String) -> String? {
        guard let text = node.string(key), !text.isEmpty, !text.contains("<"), !text.contains(">") else { return nil }
        return text
    }

    private func note(_ place: ConfigNode?, _ message: String) {
        guard let place else {
            return log.add(.appIdDerived, severity: .warning, file: Self.rootFiles[0], message)
        }
        place.problem(
            .appIdDerived, severity: .warning, at: place.child("app_id") == nil ? nil : "app_id", message)
    }

    private func check(_ id: String, _ report: (String) -> Void) {
        let isSound = id.utf8.allSatisfy(Self.isAllowed)
        if !isSound || id.isEmpty || id.utf8.count > Self.idLimit {
            report("must have at most \(Self.idLimit) ASCII letters, digits, - and _")
        }
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    /// An id made of a name: in lower case, with `-` for what an id can't have; `nil` if nothing is left.
    private static func id(from name: String) -> String? {
        let parts = name.lowercased().utf8.split { !isAllowed($0) }.map { String(decoding: $0, as: UTF8.self) }
        let id = String(parts.joined(separator: "-").prefix(idLimit))
        return id.isEmpty ? nil : id
    }
}
