import ChildProcesses
import Foundation
import TestSupport
import Testing

@testable import LocalEngines

/// The wait for a server that was started, with a program that takes its place.
struct EngineStartTests {
    /// What it answers, one after the other; the last one again and again.
    private actor Answers {
        private var rest: [EngineAnswer]

        init(_ rest: [EngineAnswer]) { self.rest = rest }

        func next() -> EngineAnswer { rest.count > 1 ? rest.removeFirst() : rest[0] }
    }

    @Test func `a server that says that it is busy is waited for beyond the deadline`() async throws {
        try await withServer { directory, child in
            let answers = Answers([.busy, .busy, .busy, .ready])
            try await confirmation(expectedCount: 3) { told in
                try await directory.wait(
                    for: child, deadline: .zero, interval: .zero,
                    waiting: { text in
                        #expect(text.contains("fake isn't ready after 0 s, but at work"))
                        told()
                    },
                    until: { await answers.next() })
            }
            #expect(child.exitStatus == nil)
        }
    }

    @Test func `a server that doesn't answer is stopped in order`() async throws {
        try await withServer { directory, child in
            let answers = Answers([.busy, .silence])
            await #expect {
                try await directory.wait(for: child, deadline: .zero, stop: SIGINT) { await answers.next() }
            } throws: { "\($0)".contains("does not answer after") }
            #expect(child.exitStatus == .signaled(SIGINT))
        }
    }

    @Test func `a server whose start is cancelled is stopped`() async throws {
        try await withServer { directory, child in
            let start = Task { try await directory.wait(for: child, deadline: patience) { .busy } }
            start.cancel()
            await #expect(throws: EngineError.self) { try await start.value }
            #expect(child.exitStatus == .signaled(SIGTERM))
        }
    }

    private func withServer(_ body: (EngineDirectory, ChildProcess) async throws -> Void) async throws {
        let root = FileManager.default.temporaryDirectory.appendingPathComponent("start-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: root) }  // nothing depends on the removal
        var directory = EngineDirectory(engine: "fake", root: root)
        directory.user = .present
        try directory.create()
        let child = try directory.spawn("sleep", ["600"])
        defer { child.signal(SIGKILL) }
        try await body(directory, child)
    }
}
