import EventLoop
import Foundation
import Lifecycle
import Testing

/// What a crashing process reports; each of these tests crashes one.
struct CrashReportTests {
    @Test func `a stack overflow on a loop's thread is reported`() async throws {
        let result = await #expect(processExitsWith: .signal(SIGSEGV), observing: [\.standardOutputContent]) {
            CrashReport.install(name: "a-service", format: .json)
            let loop = try EventLoop(name: "deep")
            let work = CrashReport.Work("request 7")
            loop.execute { print(fall(1)) }
            try await Task.sleep(for: .seconds(60))
            work.end()
        }
        try check(result, thread: "deep-0")
    }

    @Test func `a stack overflow on a thread of Swift's own is reported`() async throws {
        let result = await #expect(processExitsWith: .signal(SIGSEGV), observing: [\.standardOutputContent]) {
            CrashReport.install(name: "a-service", format: .json)
            let work = CrashReport.Work("request 7")
            await Task.detached { print(fall(1)) }.value
            work.end()
        }
        try check(result, thread: nil)
    }

    private func check(_ result: ExitTest.Result?, thread: String?) throws {
        let output = String(decoding: try #require(result).standardOutputContent, as: UTF8.self)
        let line = try #require(
            output.split(separator: "\n").last { $0.contains("died of a signal") }, "no report in: \(output)")
        let event = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        let report = try #require(event["metadata"] as? [String: Any])
        #expect(report["signal"] as? String == "SIGSEGV")
        if let thread { #expect(report["thread"] as? String == thread) }
        #expect(report["in.progress"] as? [String] == ["request 7"])
        #expect((report["stack"] as? [String])?.contains { $0.contains("fall") } == true, "\(report)")
    }
}

/// Never returns: each call keeps a part of the stack.
@inline(never) private func fall(_ depth: Int) -> Int {
    withUnsafeTemporaryAllocation(of: Int.self, capacity: 128) { memory in
        memory.initialize(repeating: depth)
        return fall(depth + 1) + memory[depth % 128]
    }
}
