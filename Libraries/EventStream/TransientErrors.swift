import Kafka
import Postgres

/// Errors that the failed work did not cause: an engine is unavailable or overloaded, or something in the database has to be
/// repaired. The work is retried with growing delays, without a limit; it is never dead-lettered for them.
public enum TransientErrors {
    /// Returns whether the same work may succeed later.
    public static func contains(_ error: any Error) -> Bool {
        switch error {
        case let error as KafkaError: error.isRetriable
        case let error as PostgresError:
            switch error.failureClass {
            case .again, .later: error.code != .closed || error.isRetriable
            // A row that can't be read (no SQLSTATE) is a problem of this event only.
            case .broken: error.sqlstate != nil
            case .refused: false
            }
        default: false
        }
    }
}
