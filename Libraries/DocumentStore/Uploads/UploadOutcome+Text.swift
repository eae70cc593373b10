import DocumentModel
import SyncEngine

/// The column `outcome` of `partita.upload_outcomes`.
extension UploadOutcome {
    var text: String {
        let value: Value
        switch self {
        case .lost(let writes):
            value = [
                "lost": .array(
                    writes.map {
                        [
                            "operation": .int64(Int64($0.operation)), "paths": .array($0.paths.map(Value.string)),
                            "deleted": .bool($0.reason == .deleted),
                        ]
                    })
            ]
        case .rejected(let rejection):
            var fields: Document = [
                "code": .string(rejection.code.rawValue), "reason": .string(rejection.reason),
            ]
            fields["path"] = rejection.path.map(Value.string)
            fields["rule"] = rejection.rule.map(Value.string)
            value = ["rejected": .document(fields)]
        }
        return ExtendedJSON.print(value, mode: .relaxed)
    }

    init(text: String) throws {
        let document = try ExtendedJSON.parseDocument(text)
        if let rejected = document["rejected"] {
            guard let code = rejected["code"]?.stringValue, let reason = rejected["reason"]?.stringValue else {
                throw DocumentStoreError(.corruptRow, "an upload's outcome can't be read")
            }
            self = .rejected(
                OperationRejection(
                    code: .init(rawValue: code), reason: reason, path: rejected["path"]?.stringValue,
                    rule: rejected["rule"]?.stringValue))
        } else {
            self = .lost(
                (document["lost"]?.arrayValue ?? []).map { write in
                    LostWrite(
                        operation: write["operation"]?.intValue ?? 0,
                        reason: write["deleted"]?.boolValue ?? false ? .deleted : .overwritten,
                        paths: (write["paths"]?.arrayValue ?? []).compactMap(\.stringValue))
                })
        }
    }
}
