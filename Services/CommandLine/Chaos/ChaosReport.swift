import DocumentModel

/// What a run found.
struct ChaosReport: Sendable {
    /// How many there were of something.
    typealias Count = (what: String, count: Int)

    let seed: UInt64
    let violations: [ChaosChecks.Violation]
    let counts: [Count]
    let memory: [(name: String, bytes: Int)]
    /// The checks that this run couldn't make.
    let leftOut: [String]

    /// How many violations of a check are shown.
    private static let limit = 10

    func show(isJSON: Bool) {
        Output.row(
            ["counts": .document(numbers(counts.map { ($0.what, $0.count) }))], isJSON: isJSON,
            counts.map { "\($0.count) \($0.what)" }.joined(separator: ", "))
        let megabytes = memory.map { ($0.name, $0.bytes >> 20) }
        Output.row(
            ["memoryMiB": .document(numbers(megabytes))], isJSON: isJSON,
            "most memory: " + megabytes.map { "\($0.0) \($0.1) MiB" }.joined(separator: ", "))
        for (name, meaning) in ChaosChecks.names where !leftOut.contains(name) {
            let found = violations.filter { $0.check == name }
            let row: Document = [
                "check": .string(name), "ok": .bool(found.isEmpty), "violations": .int64(Int64(found.count)),
                "examples": .array(found.prefix(Self.limit).map { .string($0.text) }),
            ]
            let more = found.count > Self.limit ? ["… \(found.count) in total"] : []
            let examples = (found.prefix(Self.limit).map(\.text) + more).map { "\n" + $0 }.joined()
            Output.row(
                row, isJSON: isJSON,
                "\(found.isEmpty ? "ok    " : "FAILED") \(name.padded(to: 13)) \(meaning)\(examples)")
        }
        Output.row(
            ["seed": .int64(Int64(clamping: seed)), "ok": .bool(violations.isEmpty)], isJSON: isJSON,
            violations.isEmpty ? "Everything held, with seed \(seed)." : "Not everything held, with seed \(seed).")
    }

    private func numbers(_ pairs: [(String, Int)]) -> Document {
        var document = Document()
        for (name, number) in pairs { document[name] = .int64(Int64(number)) }
        return document
    }
}
