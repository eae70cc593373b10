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

    /// The shard that publishes it, by FNV-1a.
    func shard(of count: Int) -> Int {
        var hash: UInt32 = 2_166_136_261
        for byte in app.text.utf8 { hash = (hash ^ UInt32(byte)) &* 16_777_619 }
        hash = (hash ^ 0x2F) &* 16_777_619
        for byte in partition.text.utf8 { hash = (hash ^ UInt32(byte)) &* 16_777_619 }
        return Int(hash % UInt32(count))
    }
}
