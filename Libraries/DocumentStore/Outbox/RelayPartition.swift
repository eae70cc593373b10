import DocumentModel

/// A partition as the relay names it.
struct RelayPartition: Hashable, Sendable {
    let app: ExactText
    let partition: ExactText

    init(app: String, partition: String) {
        self.app = ExactText(app)
        self.partition = ExactText(partition)
    }

    /// Reads what ``notification`` wrote.
    init?(notification text: String) {
        guard let slash = text.firstIndex(of: "/") else { return nil }
        self.init(app: String(text[..<slash]), partition: String(text[text.index(after: slash)...]))
    }

    /// The payload on the channel `partita_changes`; the triggers for other hands write the same.
    var notification: String { "\(app.text)/\(partition.text)" }

    /// The shard that publishes it.
    func shard(of count: Int) -> Int {
        var hash = Fingerprint32(app.text)
        hash.add(UInt8(ascii: "/"))
        hash.add(partition.text)
        return Int(hash.value % UInt32(count))
    }
}
