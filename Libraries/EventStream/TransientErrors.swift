import Kafka
import Postgres

/// Errors that are no fault of the work that met them: an engine is away or overloaded, or something of the database has to be
/// mended. The work is tried again, with growing pauses and however long it takes; it is never put aside for them.
public enum TransientErrors {
    /// Whether the same work may succeed later.
    public static func contains(_ error: any Error) -> Bool {
        switch error {
        case let error as KafkaError: error.isRetriable
        case let error as PostgresError:
            switch error.failureClass {
            case .again, .later: error.code != .closed || error.isRetriable
            // A row that can't be read is this event's own trouble.
            case .broken: error.sqlstate != nil
            case .refused: false
            }
        default: false
        }
    }
}
