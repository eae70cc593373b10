import EventLoop
import Postgres
import TestSupport

/// Loops that all tests share; connections and databases are each test's own.
let loops = LoopGroup(2)

/// A client on a fresh database.
@discardableResult
func withClient<R: Sendable>(
    _ change: @Sendable (inout PostgresConfiguration) -> Void = { _ in },
    _ body: @Sendable (PostgresClient) async throws -> R
) async throws -> R {
    let url = try await TestEngines.shared().makeDatabase()
    var configuration = PostgresConfiguration(url: url)
    configuration.connections = 2
    change(&configuration)
    return try await PostgresClient.withClient(configuration, on: loops, body)
}

/// A connection on a fresh database.
@discardableResult
func withConnection<R>(
    _ change: (inout PostgresConfiguration) -> Void = { _ in }, _ body: (PostgresConnection) async throws -> R
) async throws -> R {
    var configuration = PostgresConfiguration(url: try await TestEngines.shared().makeDatabase())
    change(&configuration)
    let connection = PostgresConnection(configuration: configuration, on: loops.next())
    try await connection.connect()
    do {
        let result = try await body(connection)
        await connection.close()
        return result
    } catch {
        await connection.close()
        throw error
    }
}
