import Kafka
import Postgres

/// Errors that pass by themselves, however long it takes: an engine is away or overloaded.
public enum TransientErrors {
    /// Whether the same work may succeed later without anybody changing anything.
    public static func contains(_ error: any Error) -> Bool {
        switch error {
        case let error as KafkaError: error.isRetriable
        case let error as PostgresError: error.isRetriable || unavailable.contains(error.code)
        default: false
        }
    }

    private static let unavailable: Set<PostgresError.Code> = [
        .connectionFailed, .connectionLost, .poolTimeout, .poolExhausted, .timeout,
    ]
}
