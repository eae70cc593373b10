import DocumentModel
import DocumentStore
import RealmSync

/// What a transaction adds to a partition's history, and does to its documents.
struct RealmCommit: Sendable {
    let key: PartitionKey
    /// What the history must still be: its version with its secret, and the version of the app.
    let former: HistoryStanding
    let addition: HistoryAddition
    var writes: [KeyedWrite] = []

    /// Large ones are committed in a transaction of their own, so that others needn't wait for them, and needn't share its memory.
    var isLarge: Bool {
        writes.count > 100 || addition.objects.count > 100 || addition.isReset
            || addition.entries.reduce(0) { $0 + $1.bytes.count } > 64 << 10
            || addition.objects.reduce(0) { $0 + ($1.value?.memory ?? 0) } > 1 << 20
    }
}
