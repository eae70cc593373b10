import DocumentModel
import EventLoop
import PartitaClient

/// Where a journey is played: the running system, and what belongs to this run only.
struct DemoStage: Sendable {
    let configuration: LocalConfiguration
    /// The app's id.
    let app: String
    /// Distinguishes this run's people and documents from those of other runs.
    let run: String
    /// The folder of the devices' stores.
    let folder: String
    let loop: EventLoop
    /// Until then, permissions may not know the app yet.
    let settling: ContinuousClock.Instant

    /// Begins a scene.
    func scene(_ text: String) { Output.line("\n" + text) }

    /// Registers a person, and signs their device in.
    func register(_ name: String) async throws -> DemoPerson {
        try await DemoPerson.enter(name, email: "\(name)-\(run)@example.com", isNew: true, on: self)
    }

    /// Signs a device of a person of the sample data in.
    func signIn(_ name: String, _ email: String) async throws -> DemoPerson {
        try await DemoPerson.enter(name, email: email, isNew: false, on: self)
    }

    /// Calls until a service answers: one that is started again is away for a moment.
    /// - Parameter call: gets whether an earlier attempt may have been carried out.
    static func patiently<T>(_ call: (_ isRepeated: Bool) async throws -> T) async throws -> T {
        let end = ContinuousClock.now + .seconds(30)
        var isRepeated = false
        while true {
            do { return try await call(isRepeated) } catch let error as PartitaError where error.code == .unreachable {
                guard ContinuousClock.now < end else { throw error }
            }
            isRepeated = true
            // A service that was killed is started again; nothing tells when.
            try await Task.sleep(for: .milliseconds(200))
        }
    }
}

/// Waits for a value by polling.
/// - Throws: `DemoFailure` when there is none in time.
@discardableResult
func eventually<T>(_ what: String, within limit: Duration = .seconds(40), _ value: () async throws -> T?) async throws
    -> T
{
    let end = ContinuousClock.now + limit
    while true {
        if let value = try await value() { return value }
        if ContinuousClock.now > end { throw DemoFailure(description: "did not happen within \(limit): \(what)") }
        try await Task.sleep(for: .milliseconds(10))  // the condition may depend on any process, so it is polled
    }
}

/// The journey didn't have the expected result.
struct DemoFailure: Error, CustomStringConvertible { let description: String }

extension Sequence {
    func asyncMap<T>(_ transform: (Element) async throws -> T) async rethrows -> [T] {
        var result: [T] = []
        for element in self { result.append(try await transform(element)) }
        return result
    }
}
