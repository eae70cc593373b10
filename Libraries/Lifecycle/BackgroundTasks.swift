/// Runs work that outlives the call that starts it, such as a message that a synchronous callback sends. It owns that work: ``run()`` returns
/// when all of it has ended.
///
/// Work that is added after a graceful shutdown has begun is dropped. In a ``ServiceGroup`` it stands before the services that add work, and
/// so ends after them.
public final class BackgroundTasks: Service {
    private let works: AsyncStream<@Sendable () async -> Void>
    private let input: AsyncStream<@Sendable () async -> Void>.Continuation

    public init() { (works, input) = AsyncStream.makeStream() }

    /// Starts work beside all other. Work that is added before ``run()`` is called starts then.
    public func add(_ work: @escaping @Sendable () async -> Void) { input.yield(work) }

    /// Runs the work until graceful shutdown, and then waits for what is running; a cancellation cancels that, too.
    public func run() async throws {
        await withGracefulShutdownHandler {
            await withDiscardingTaskGroup { group in
                for await work in works { group.addTask { await work() } }
            }
        } onGracefulShutdown: {
            self.input.finish()
        }
    }
}
