public import DocumentModel

extension PartitionKey {
    /// The payload of a notification on `CommitNotifier.channel`; the triggers for external writers write the same.
    var notification: String { "\(app)/\(partition.text)" }

    /// Reads the payload of a notification that announced a commit.
    /// - Returns: `nil` when the text has no slash.
    public init?(notification text: String) {
        guard let slash = text.utf8.firstIndex(of: UInt8(ascii: "/")) else { return nil }
        self.init(
            app: String(text[..<slash]), partition: Partition(text: String(text[text.utf8.index(after: slash)...])))
    }
}
